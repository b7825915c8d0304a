"""Circles of calls that lead through processes: found while they stand, for no side sees all of one.

Each such circle has a call out of a process. Those that are not answered at once are followed: on this side as
`deadlock` does, and through a process by asking it to which call out of it an answer leads. What was seen one after the
other is looked at once more: an edge never comes back, so one that is still there was there all the time.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from otpy.errors import DeadlockError, OtpyError
from otpy.places.process.far import FarBox
from otpy.places.process.say import Say
from otpy.runtime.caller import Caller
from otpy.runtime.crew import Crew

if TYPE_CHECKING:
    from otpy.places.process.child import Child
    from otpy.places.process.line import Line
    from otpy.places.process.listener import Listener
    from otpy.runtime.ref import Ref

__all__ = ["Circles", "drop_call", "leads_to"]

PERIOD = 0.05
"""Seconds between two looks, and a call's age at the first."""
LONGEST = 100
"""Calls of one circle."""


@dataclass(slots=True)
class Way:
    """The way from a call to itself."""

    paths: list[str] = field(default_factory=list)
    """Who waits for whom, from the target of the call to who made it."""
    calls: list[tuple[Caller, Child | None, int, bool]] = field(default_factory=list)
    """Each call, the process it went into and its number there, and whether it still waits in a mailbox."""
    key: list[object] = field(default_factory=list)
    """What must be the same at the second look."""


class Circles:
    """Follows calls out of the processes of one system; in the thread of `Ports`, and in one of its own when needed."""

    def __init__(self, listener: Listener) -> None:
        """Follow none yet."""
        self._listener = listener
        self._children: dict[Child, None] = {}
        self._seen: dict[Caller, tuple[float, float]] = {}  # when it was first seen, and is to be looked at again
        self._thread: threading.Thread | None = None

    def note_call(self, child: Child) -> None:
        """A child has made a call."""
        if not self._children:
            self._listener.later(PERIOD, self._look)
        self._children[child] = None

    def _look(self) -> None:
        now = time.monotonic()
        suspects: list[tuple[Child, int]] = []
        seen: dict[Caller, tuple[float, float]] = {}
        for child in list(self._children):
            asked = child.line.asked.copy()
            if child.is_over or not asked:
                del self._children[child]
                continue
            for number, caller in asked.items():
                first, due = self._seen.get(caller, (now, now))
                if now >= due and _may_stand(caller):
                    suspects.append((child, number))
                    due = now + max(PERIOD, now - first)
                seen[caller] = (first, due)
        self._seen = seen
        if suspects and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._search, args=(suspects,), name="otpy-circles", daemon=True)
            with suppress(RuntimeError):  # no thread is to be had: their time ends them
                self._thread.start()
        if self._children:
            self._listener.later(PERIOD, self._look)

    def _search(self, suspects: list[tuple[Child, int]]) -> None:
        for child, number in suspects:
            with suppress(OtpyError):  # one of them has ended, or answers with nonsense
                way = follow(child, number)
                again = None if way is None else follow(child, number)
                if way is not None and again is not None and way.key == again.key:
                    _break(again)


def _may_stand(caller: Caller) -> bool:
    """Whether a call may stand still because its target waits for somebody."""
    target = caller.target
    return bool(caller.claim) and not caller.deferred and (target.waiting is not None or _line_of(target) is not None)


def follow(child: Child, number: int) -> Way | None:
    """The way from a call out of a process back to itself; None when it ends anywhere."""
    first = child.line.asked.get(number)
    way = Way()
    edge: Any = first
    while edge is not None and len(way.calls) < LONGEST:
        if not isinstance(edge, Caller) or edge.deferred or not edge.claim or edge in way.key:
            return None
        way.key.append(edge)
        line = _line_of(edge.target)
        if line is None:
            edge = _step(way, edge)
            continue
        out = _through(way, edge, line)
        if line is child.line and out == number:
            return way
        edge = None if out is None else line.asked.get(out)
    return None


def _step(way: Way, edge: Caller) -> Any:  # Any: whatever can stand in `ref.waiting`
    """Whom the target of a call waits for on this side."""
    target = edge.target
    way.paths.append(target.path)
    way.calls.append((edge, None, 0, target.current is not edge))
    return target.waiting


def _through(way: Way, edge: Caller, line: Line) -> int | None:
    """The call out of a process to which a call into it leads."""
    owner: Child = line.owner
    inward = next((own for own, waiter in line.waiting.copy().items() if waiter is edge), None)
    if inward is None:
        return None
    found = None if owner.view is None else owner.view.leads(inward)
    if found is None:
        return None
    out, is_queued, paths = found
    way.paths.extend(paths)
    way.calls.append((edge, owner, inward, is_queued))
    way.key.append(out)
    return out


def _break(way: Way) -> None:
    """Refuse the call that closed the circle: mostly the one whose target has not begun with it."""
    edge, owner, number, is_queued = next((call for call in way.calls if call[3]), way.calls[0])
    target = edge.target
    if owner is not None:
        if is_queued:
            owner.line.say(Say.DROP, number)
        owner.line.waiting.pop(number, None)
    elif is_queued and target.mailbox is not None:
        with suppress(ValueError, IndexError, RuntimeError):  # it has just been begun with
            target.mailbox.remove(edge)
    place = way.paths.index(target.path) - 1
    chain = [*way.paths[place:], *way.paths[:place]] if place >= 0 else [way.paths[-1], *way.paths[:-1]]
    edge.break_off(DeadlockError(target.path, edge.request, [*chain, chain[0]]))


def _line_of(ref: Ref[Any]) -> Line | None:
    """The pipe behind which an actor runs; None for one of this side."""
    box = ref.mailbox
    return box.line if isinstance(box, FarBox) else None


# Inside of a child.


def leads_to(line: Line, number: int) -> list[object] | None:
    """The call over the pipe for which the answer to one from there waits; None when it does not stand still.

    With it comes whether the call still waits in a mailbox, and the paths from its target to who waits in the end.
    """
    call = line.asked.get(number)
    if call is None or call.deferred or not call.claim:
        return None
    paths: list[str] = []
    current: Ref[Any] | None = call.target
    while current is not None and current.path not in paths:
        paths.append(current.path)
        edge: Any = current.waiting
        if edge is None or isinstance(edge, Crew) or edge.deferred or not edge.claim:
            return None
        if edge.target is not None and _line_of(edge.target) is line:
            out = next((own for own, waiter in line.waiting.copy().items() if waiter is edge), None)
            return None if out is None else [out, call.target.current is not call, paths]
        current = edge.target
    return None


def drop_call(line: Line, number: int) -> None:
    """Whoever made this call has been refused: it is not to be handled any more."""
    call = line.asked.pop(number, None)
    if call is not None and call.target.mailbox is not None:
        with suppress(ValueError, IndexError, RuntimeError):
            call.target.mailbox.remove(call)
