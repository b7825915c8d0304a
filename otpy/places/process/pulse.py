"""Signs of life: every child is asked for one from time to time, and a thread of its runtime answers.

So code that keeps the interpreter to itself, as a C call may that never releases it, and a process that is stopped or
swapped out, are told apart from an actor that is merely busy: that one answers.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from otpy.core.reason import NoConnection
from otpy.events.processes import ProcessAnswers, ProcessSilent
from otpy.places.process.say import Say
from otpy.runtime.mailbox import poke

if TYPE_CHECKING:
    from otpy.events.event import Event
    from otpy.places.process.child import Child
    from otpy.places.process.listener import Due, Listener

__all__ = ["Heartbeats", "Pulse"]

PERIOD = 15.0
"""Seconds between two questions. All children are asked at once, so that an idle program wakes up four times a minute
for it, however many there are, and each of them as often."""
SILENT = 5.0
"""Seconds without an answer after which that is reported; a busy machine may keep a process waiting for a second."""
TIMES = 3
"""One that is to be killed after some seconds of silence is asked so often in that time, if that is more."""

LATE = 1.25
"""A look that comes so many times later than it was meant to says nothing of the child: the program itself was stopped,
or had no turn, and the answer may lie there unread."""

STATES = {
    "T": "it is stopped",
    "t": "a debugger has stopped it",
    "D": "it waits for a disk or for memory that was swapped out",
    "R": "it computes, and keeps its interpreter to itself",
    "S": "it waits, and keeps its interpreter to itself",
    "Z": "it has ended",
}
"""What the state in `/proc` says of a process that does not answer."""


class Pulse:
    """The signs of life of one child; all but `complaint` in the listener's thread."""

    def __init__(self, child: Child, listener: Listener, limit: float | None) -> None:
        """Have heard it just now. It is killed after `limit` seconds of silence; None: never."""
        self._child = child
        self._listener = listener
        self._limit = limit
        self._asked_at = 0.0
        self._silence_due = 0.0
        self._seen = 0
        self._due: Due | None = None
        self._is_reported = False

    def ask(self) -> None:
        """Ask for a sign of life, unless it still owes one."""
        if not self._asked_at:
            self._wait_from_now()
            self._child.line.say(Say.PING, 0)

    def answered(self) -> None:
        """It has given one."""
        silence = self._silence()
        self._asked_at = 0.0
        if self._due is not None:
            self._due.cancel()
        if self._is_reported:
            self._is_reported = False
            self._report(ProcessAnswers(path=self._child.path, seconds=silence))

    def complaint(self) -> str | None:
        """What there is to say against it, in any thread."""
        silence = self._silence()
        return f"silent for {silence:.0f} s: {_state(self._child.pid)}" if silence >= 1.0 else None

    def _silence(self) -> float:
        asked_at = self._asked_at
        return monotonic() - asked_at if asked_at else 0.0

    def _wait_from_now(self) -> None:
        self._asked_at = monotonic()
        self._seen = self._child.taken
        self._look_at(SILENT if self._limit is None else min(SILENT, self._limit))

    def _look_at(self, silence: float) -> None:
        self._silence_due = silence
        self._due = self._listener.later(self._asked_at + silence - monotonic(), self._look)

    def _look(self) -> None:
        """It has not answered in time."""
        child, silence, limit = self._child, self._silence(), self._limit
        if child.is_over or not self._asked_at:
            return
        has_spoken = child.taken != self._seen  # so it lives: its answer is behind what it has to say
        if has_spoken or silence > self._silence_due * LATE:
            self._wait_from_now()
            return
        if silence >= SILENT and not self._is_reported:
            self._is_reported = True
            self._report(ProcessSilent(path=child.path, seconds=silence, pid=child.pid or 0, state=_state(child.pid)))
        if limit is not None and silence >= limit:
            child.end_as(
                NoConnection(f"it was killed, for it gave no sign of life for {silence:.3g} s: {_state(child.pid)}")
            )
        elif limit is not None:
            self._look_at(min(limit, SILENT) if silence < min(limit, SILENT) else limit)

    def _report(self, event: Event) -> None:
        poke(self._child.ref, lambda own: own.system.events.emit(event))  # its listeners may take their time


class Heartbeats:
    """Asks all children of one system; in the listener's thread."""

    def __init__(self, listener: Listener) -> None:
        """Ask nobody yet."""
        self._listener = listener
        self._pulses: dict[float, set[Pulse]] = {}

    def begin(self, child: Child, limit: float | None) -> Pulse:
        """Ask this child, too, from now on."""
        period = PERIOD if limit is None else min(PERIOD, limit / TIMES)
        pulse = Pulse(child, self._listener, limit)
        pulses = self._pulses.get(period)
        if pulses is None:
            pulses = self._pulses[period] = set()
            self._listener.later(period, partial(self._ask, period))
        pulses.add(pulse)
        return pulse

    def end(self, pulse: Pulse) -> None:
        """Its process has ended."""
        for pulses in self._pulses.values():
            pulses.discard(pulse)

    def _ask(self, period: float) -> None:
        if not self._pulses[period]:
            del self._pulses[period]
            return
        for pulse in self._pulses[period]:
            pulse.ask()
        self._listener.later(period, partial(self._ask, period))


def _state(pid: int | None) -> str:
    """What its state says of a process that does not answer."""
    with suppress(OSError, IndexError):
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - a line of /proc
            state = file.read().rpartition(b")")[2].split()[0].decode()
        return f"{STATES.get(state, 'it does not answer')} ({state})"
    return "its state cannot be read"
