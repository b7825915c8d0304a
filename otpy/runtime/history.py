"""What a system remembers of exits: bounded rings, written only at deaths and where a supervisor decides.

An exit that a supervisor ordered is not kept: stopping a million children costs nothing here. What ended by its own
fault, what was taken along by that, and what ended in peace are kept apart, so that no flood of one kind washes the
others away.
"""

from __future__ import annotations

import threading
from collections import deque
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from otpy.core.reason import Crashed, FailedChild, Killed, Normal, Reason, RestartLimit, Shutdown, is_alike
from otpy.runtime.crew import in_hand
from otpy.runtime.links import ExitSignal
from otpy.runtime.message import head_of
from otpy.runtime.notes import MAX_EXITS, Decided, Note, Ring, is_plain, peaceful
from otpy.runtime.seat import here
from otpy.runtime.waiting import caller_line, may_be_waited_for, waiting_callers

if TYPE_CHECKING:
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["MAX_KEPT", "MAX_NAMES", "History", "is_ordered"]

MAX_KEPT = 4 * MAX_EXITS
"""Exits a system remembers at most: by their own fault, taken along, in peace and started again, in peace for good."""
MAX_NAMES = 20
"""Paths named in one note; the rest are counted."""


class History:
    """The exits of one system; any thread may read and write."""

    def __init__(self, system: System) -> None:
        """Remember nothing yet."""
        self._system = system
        self._lock = threading.RLock()  # RLock: a `__del__` that runs here may end an actor
        self._faults, self._taken, self._quiet = Ring(), Ring(), Ring()
        self._left: deque[tuple[Any, ...]] = deque(maxlen=MAX_EXITS)  # ended in peace, and not started again
        self._count = 0
        self._by_number: dict[int, Note] = {}
        self._failed_calls: dict[int, Note] = {}  # by the caller's number
        self._last: dict[tuple[int, str | int], Note] = {}  # of each child, by its supervisor's number and its id

    def notes(self) -> list[Note]:
        """All that is kept, the oldest first."""
        with self._lock:
            kept = [*self._faults.notes, *self._taken.notes, *self._quiet.notes, *map(peaceful, self._left)]
        return sorted(kept, key=attrgetter("order"))

    # Written by deaths.

    def died(self, ref: Ref[Any], reason: Reason, cause: Ref[Any] | None) -> None:
        """Note an exit that nobody ordered; called once its `reason` is set, before anybody hears of it."""
        note = Note(ref, reason, self._system.clock.now())
        current = ref.current
        note.head = head_of(in_hand(ref))
        if cause is None or cause is ref:
            cause = _sender(current, reason) or _alike(ref, reason)
        if may_be_waited_for(ref, current):
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
            note.waiting = tuple(caller_line(caller) for caller in callers[:MAX_NAMES])
            note.waiting_count = len(callers)
            refs = [caller.ref for caller in callers]  # each read once: the time of a call may be over just now
            note.victims = tuple(one.number for one in refs if one is not None)

    def _limit_cause(self, ref: Ref[Any], reason: Reason) -> Note | None:
        """The exit that was one too many, or the failed start, for a supervisor that gives up."""
        detail = reason.detail if isinstance(reason, Shutdown) else None
        if not isinstance(detail, _GAVE_UP):
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
        self._count = note.order = self._count + 1
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
        now = self._system.clock.now()
        with self._lock:
            note = self._by_number.get(ref.number)
            if note is None and verdict != "restart":
                # The frequent case, as of short-lived children: what is kept of it becomes a note when somebody asks.
                self._count += 1
                kept = reason if is_plain(reason) else str(reason)
                facts = (self._count, now, ref.started_at, ref.number, ref.id, ref.parent, ref.actor_class)
                self._left.append((*facts, kept, verdict))
            elif note is None:
                self._keep(self._quiet, Note(ref, reason, now))
            elif verdict != "restart":
                note.decided += (Decided("kept" if verdict == "keep" else "forgot", now),)

    def decide(self, supervisor: Ref[Any], ident: str | int, what: str, *facts: Any, **more: Any) -> None:
        """A supervisor does something about the last exit of a child; `facts` are those of `Decided` after `at`."""
        decided = Decided(what, self._system.clock.now(), *facts, **more)
        with self._lock:
            note = self._last.get((supervisor.number, ident))
            if note is not None:
                note.decided = (*note.decided, decided)[-MAX_NAMES:]

    def attempt_failed(self, supervisor: Ref[Any], ident: str | int, restart: int) -> None:
        """A restart that was decided has failed: what was remembered of it was no more than an attempt."""
        with self._lock:
            for note in (*self._faults.notes, *self._taken.notes, *self._quiet.notes):
                if note.parent is supervisor and note.id == ident:
                    note.decided = tuple([decided.as_attempt(restart) for decided in note.decided])


_IN_PEACE = (Normal, Shutdown)
_GAVE_UP = (RestartLimit, FailedChild)


def is_ordered(ref: Ref[Any], reason: Reason, cause: Ref[Any] | None) -> bool:
    """Whether an exit is what a living supervisor wanted, or a peaceful end; of these only supervisors take note."""
    if cause is ref:
        cause = None  # as when a function is told to stop
    if cause is not None and cause is ref.parent:
        return cause.reason is None or isinstance(reason, _IN_PEACE)
    if isinstance(reason, Shutdown):
        return cause is None and not isinstance(reason.detail, _GAVE_UP)
    return isinstance(reason, Normal)


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
