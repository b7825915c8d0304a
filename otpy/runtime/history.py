"""What a system remembers of exits: bounded rings, written only at deaths and where a supervisor decides.

An exit that a supervisor ordered is not kept: stopping a million children costs nothing here. What ended by its own
fault, what was taken along by that, and what ended in peace are kept apart, so that no flood of one kind washes the
others away.
"""

from __future__ import annotations

import threading
from collections import deque
from itertools import count
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from otpy.core.reason import (
    TEXT_ONLY,
    Crashed,
    FailedChild,
    Killed,
    Normal,
    Reason,
    RestartLimit,
    Shutdown,
    is_alike,
)
from otpy.runtime.links import ExitSignal
from otpy.runtime.message import message_word
from otpy.runtime.seat import here

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["MAX_BYTES", "MAX_EXITS", "MAX_NAMES", "Decided", "History", "Note", "is_ordered", "waiting_callers"]

MAX_EXITS = 200
"""Exits kept of each of the three kinds."""
MAX_BYTES = 256 * 1024
"""Estimated size of what is kept of one kind."""
MAX_NAMES = 20
"""Paths named in one note; the rest are counted."""
MAX_LOOKED_AT = 100
"""Waiting messages in which a death looks for callers."""

BASE_BYTES = 600
FRAME_BYTES = 150


class Note:
    """One exit as it is kept; only the history's lock changes it after it was written."""

    took: tuple[str, ...] = ()
    took_count = 0
    waiting: tuple[str, ...] = ()
    waiting_count = 0
    decided: tuple[Decided, ...] = ()
    message = ""
    queue = 0
    order = 0
    victims: tuple[int, ...] = ()
    by: str | None = None
    cause: Note | None = None

    def __init__(self, ref: Ref[Any], reason: Reason, at: float) -> None:
        """Keep what costs nothing; no user's object, and not the dead incarnation."""
        self.at = at
        self.number = ref.number
        self.id = ref.id
        self.parent = ref.parent
        self.top = ref.path if ref.parent is None else ""
        self.uptime = at - ref.started_at
        self.kind = ref.actor_class.__name__
        self.reason: Reason | str = reason if _is_plain(reason) else str(reason)
        self.size = BASE_BYTES if not isinstance(reason, Crashed) else _size(reason)
        """About how many bytes it takes."""

    @property
    def path(self) -> str:
        """Whose exit it was; put together only when somebody asks."""
        return self.top or f"{self.parent.path}/{self.id}"  # type: ignore[union-attr]  # one of the two there is


class Decided:
    """One thing a supervisor did about an exit."""

    __slots__ = (
        *("at", "count", "detail", "max_restarts", "max_seconds"),
        *("others", "others_count", "restart", "what"),
    )

    def __init__(self, what: str, at: float, detail: str | None = None) -> None:
        """Say what and when."""
        self.what = what
        self.at = at
        self.detail = detail
        self.restart = self.count = self.max_restarts = self.others_count = 0
        self.max_seconds = 0.0
        self.others: tuple[str, ...] = ()

    def restarts(self, number: int, count: int, max_restarts: int, max_seconds: float) -> None:
        """Say which restart of the child it is, and how many were counted in which window."""
        self.restart, self.count = number, count
        self.max_restarts, self.max_seconds = max_restarts, max_seconds


class Ring:
    """The latest notes of one kind, bounded in number and size."""

    def __init__(self) -> None:
        """Empty."""
        self.notes: deque[Note] = deque()
        self.bytes = 0
        self.dropped = 0

    @property
    def is_too_full(self) -> bool:
        """Whether the oldest has to go."""
        return len(self.notes) > MAX_EXITS or self.bytes > MAX_BYTES

    def add(self, note: Note) -> None:
        """Add one."""
        self.notes.append(note)
        self.bytes += note.size

    def drop(self) -> Note:
        """Take the oldest out."""
        oldest = self.notes.popleft()
        self.bytes -= oldest.size
        self.dropped += 1
        return oldest


class History:
    """The exits of one system; any thread may read and write."""

    def __init__(self, system: System) -> None:
        """Remember nothing yet."""
        self._system = system
        self._lock = threading.RLock()  # RLock: a `__del__` that runs here may end an actor
        self._faults, self._taken, self._quiet = Ring(), Ring(), Ring()
        self._left: deque[tuple[Any, ...]] = deque(maxlen=MAX_EXITS)  # ended in peace, and not started again
        self._count = count(1)
        self._by_number: dict[int, Note] = {}
        self._failed_calls: dict[int, Note] = {}  # by the caller's number
        self._last: dict[tuple[int, str | int], Note] = {}  # of each child, by its supervisor's number and its id

    def notes(self) -> list[Note]:
        """All that is kept, the oldest first."""
        with self._lock:
            kept = [*self._faults.notes, *self._taken.notes, *self._quiet.notes]
        kept += [_note_of(facts) for facts in self._left.copy()]
        return sorted(kept, key=attrgetter("order"))

    @property
    def dropped(self) -> int:
        """How many exits were forgotten to make room."""
        return self._faults.dropped + self._taken.dropped + self._quiet.dropped

    # Written by deaths.

    def died(self, ref: Ref[Any], reason: Reason, cause: Ref[Any] | None) -> None:
        """Note an exit that nobody ordered; called once its `reason` is set, before anybody hears of it."""
        note = Note(ref, reason, self._system.clock.now())
        current = ref.current
        note.message = message_word(current)
        if cause is None or cause is ref:
            cause = _sender(current, reason) or _alike(ref, reason)
        if ref.mailbox or current.__class__ not in _NO_CALLER or (ref.more is not None and ref.more.has_deferred):
            self._note_callers(note, ref, current)
        if cause is not None:
            note.by = cause.path
        elif isinstance(reason, Killed):
            killer = here().ref
            note.by = killer.path if killer is not None and killer is not ref else threading.current_thread().name
        with self._lock:
            if cause is not None:
                self._took(note, ref, cause)
            elif isinstance(reason, Crashed):
                note.cause = self._failed_calls.get(ref.number) if _is_failed_call(reason) else None
            else:
                note.cause = self._limit_cause(ref, reason)
            for number in note.victims:
                self._failed_calls[number] = note
            self._keep(self._faults if cause is None else self._taken, note)

    def _note_callers(self, note: Note, ref: Ref[Any], current: object) -> None:
        note.queue = len(ref.mailbox or ())
        callers = [*waiting_callers(ref, current)]
        if callers:
            note.waiting = tuple(_caller_line(caller) for caller in callers[:MAX_NAMES])
            note.waiting_count = len(callers)
            note.victims = tuple(caller.ref.number for caller in callers if caller.ref is not None)

    def _limit_cause(self, ref: Ref[Any], reason: Reason) -> Note | None:
        """The exit that was one too many, or the failed start, for a supervisor that gives up."""
        detail = reason.detail if isinstance(reason, Shutdown) else None
        if not isinstance(detail, RestartLimit | FailedChild):
            return None
        found = self._last.get((ref.number, detail.child))
        return found or (self._last.get((ref.number, int(detail.child))) if detail.child.isdecimal() else None)

    def _took(self, note: Note, ref: Ref[Any], cause: Ref[Any]) -> None:
        origin = note.cause = self._by_number.get(cause.number)
        if origin is not None:
            origin.took_count += 1
            if len(origin.took) < MAX_NAMES:
                origin.took += (ref.path,)

    def _keep(self, ring: Ring, note: Note) -> None:
        note.order = next(self._count)
        self._by_number[note.number] = note
        if note.parent is not None:
            self._last[note.parent.number, note.id] = note
        ring.add(note)
        while ring.is_too_full:
            self._drop(ring.drop())

    def _drop(self, old: Note) -> None:
        old.cause = None
        for number in old.victims:
            if self._failed_calls.get(number) is old:
                del self._failed_calls[number]
        if self._by_number.get(old.number) is old:
            del self._by_number[old.number]
        if old.parent is not None and self._last.get((old.parent.number, old.id)) is old:
            del self._last[old.parent.number, old.id]

    # Written by supervisors, in their turns.

    def ended(self, ref: Ref[Any], reason: Reason, verdict: str) -> None:
        """A child has ended by itself, and its supervisor starts it again, keeps its spec, or forgets it."""
        note = self._by_number.get(ref.number)
        if note is None and verdict != "restart":
            # The frequent case, as of short-lived children: what is kept of it becomes a note when somebody asks.
            kept = reason if _is_plain(reason) else str(reason)
            facts = (next(self._count), self._system.clock.now(), ref.started_at, ref.number, ref.id)
            self._left.append((*facts, ref.parent, ref.actor_class, kept, verdict))
            return
        with self._lock:
            if note is None:
                self._keep(self._quiet, Note(ref, reason, self._system.clock.now()))
            elif verdict != "restart":
                note.decided += (Decided("kept" if verdict == "keep" else "forgot", self._system.clock.now()),)

    def decide(self, supervisor: Ref[Any], ident: str | int, what: str, detail: str | None = None) -> Decided:
        """A supervisor does something about the last exit of a child; the caller fills in the rest."""
        decided = Decided(what, self._system.clock.now(), detail)
        with self._lock:
            note = self._last.get((supervisor.number, ident))
            if note is not None:
                note.decided = (*note.decided, decided)[-MAX_NAMES:]
        return decided


def is_ordered(ref: Ref[Any], reason: Reason, cause: Ref[Any] | None) -> bool:
    """Whether an exit is what a living supervisor wanted, or a peaceful end; of these only supervisors take note."""
    if cause is ref:
        cause = None  # as when a function is told to stop
    if cause is not None and cause is ref.parent:
        return cause.reason is None or isinstance(reason, Normal | Shutdown)
    if isinstance(reason, Shutdown):
        return cause is None and not isinstance(reason.detail, RestartLimit | FailedChild)
    return isinstance(reason, Normal)


def _note_of(facts: tuple[Any, ...]) -> Note:
    """What was kept in short of a peaceful end, as a note."""
    order, at, started_at, number, ident, parent, cls, reason, word = facts
    note = Note.__new__(Note)
    note.order, note.at, note.uptime, note.number = order, at, at - started_at, number
    note.id, note.parent, note.top, note.kind = ident, parent, "", cls.__name__
    note.reason, note.size = reason, BASE_BYTES
    note.decided = (Decided("kept" if word == "keep" else "forgot", at),)
    return note


_NO_CALLER = (tuple, str, type(None))


def _size(reason: Crashed | None) -> int:
    size = BASE_BYTES
    while reason is not None:
        size += FRAME_BYTES * (2 + len(reason.frames))
        reason = reason.cause
    return size


def _is_plain(reason: Reason) -> bool:
    """Whether a reason holds nothing of the user's but text."""
    if isinstance(reason, Shutdown):
        return reason.detail is None
    return type(reason) in TEXT_ONLY


def _sender(current: object, reason: Reason) -> Ref[Any] | None:
    """Whose exit signal an actor that traps them is obeying."""
    if isinstance(current, tuple) and len(current) > 1 and isinstance(signal := current[1], ExitSignal):
        return signal.sender if is_alike(signal.reason, reason) else None
    return None


def _alike(ref: Ref[Any], reason: Reason) -> Ref[Any] | None:
    """The parent, when it has ended for the same reason before."""
    parent = ref.parent
    return parent if parent is not None and parent.reason is not None and is_alike(parent.reason, reason) else None


def _is_failed_call(reason: Crashed | None) -> bool:
    """Whether an exception came from a call whose server ended."""
    while reason is not None and reason.type != "CallExitError":
        reason = reason.cause
    return reason is not None


def waiting_callers(ref: Ref[Any], current: object) -> Iterator[Any]:
    """The callers whose calls fail by a death: that of the current message, deferred ones, and those in the queue."""
    found: Iterable[Any] = [current, *(ref.more.tables()[2] if ref.more is not None else ()), *_queued(ref)]
    return (one for one in found if hasattr(one, "claim") and one.claim)


def _queued(ref: Ref[Any]) -> Iterator[Any]:
    box = ref.mailbox or ()
    for index in range(min(len(box), MAX_LOOKED_AT)):
        try:
            yield box[index]  # not iterated: another thread may append meanwhile
        except IndexError:
            return


def _caller_line(caller: Any) -> str:  # Any: a `Caller`
    ref = caller.seat.ref
    who = ref.path if ref is not None else caller.seat.thread_name or _thread_name(caller.seat.ident)
    return f"{who} in call {caller.request}"


def _thread_name(ident: int) -> str:
    return next((thread.name for thread in threading.enumerate() if thread.ident == ident), f"thread {ident}")
