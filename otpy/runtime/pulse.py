"""The pulse of a system: what stands still in it while somebody waits, looked at about once a second.

The watchdog takes it, whose thread needs nothing of what may stand still. It counts the time in which it has itself
looked, and so none in which the whole process was stopped.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from otpy.core.standstill import Sign, Standstill, standstills

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from otpy.runtime.system import System

__all__ = ["TIMERS", "TURNS", "Pulse"]

TURNS, TIMERS = "turns", "timers"
"""The names of two signs; those of event loops are `loop`, or `loop:` and the name of one of several."""

LONGEST = 2.0
"""Seconds that count between two looks, at most: twice the time between them. What is longer was a pause of the
process, or of the machine, or a call that kept the interpreter's lock, in which nothing could go on."""
MISSED = 10.0
"""Seconds without a look after which one is missed: ten times the time between two."""
LATE = 1.0
"""Seconds after which a timer that is due counts as one that somebody waits for."""
CPU_SHARE = 0.05
"""Workers that together used more of the time between two looks than this compute, and are at work. Together, for they
share one interpreter lock: of eight that compute each gets an eighth. And so little: a container may have no more."""


class Pulse:
    """Written by the watchdog's thread alone, read by any."""

    def __init__(self, system: System, now: Callable[[], float] = time.monotonic) -> None:
        """Have seen nothing; `now` tells real seconds, for a virtual clock stands while something hangs."""
        self._system = system
        self._now = now
        self._taken_at: float | None = None
        self._missed: tuple[float, float] | None = None  # the last look that no other has followed, and since when so
        self._cpu: dict[int, float] = {}
        self._computed = 0
        self.found: Mapping[str, Standstill] = {}
        """What stood still at the last look."""

    def take(self) -> None:
        """Look once."""
        now = self._now()
        passed = 0.0 if self._taken_at is None else now - self._taken_at
        self._taken_at = now
        self.found = standstills(self.found, self._signs(passed), min(passed, LONGEST))

    def silence(self) -> float:
        """Seconds since it was first seen that nobody takes the pulse any more; 0.0 while somebody does. Any thread.

        Counted from when somebody asks, so that a pause of the whole process does not look like it.
        """
        taken_at, now = self._taken_at, self._now()
        if taken_at is None or now - taken_at < MISSED:
            return 0.0
        missed = self._missed
        if missed is None or missed[0] != taken_at:
            missed = self._missed = (taken_at, now)
        return now - missed[1]

    def _signs(self, passed: float) -> Iterator[Sign]:
        yield self._turns(passed)
        yield self._timers()
        for home in list(self._system.threads):  # thousands may have but one actor, and nobody in line
            waiting = home.in_line()
            if waiting:
                yield Sign(home.place, home.turns(), waiting)

    def _turns(self, passed: float) -> Sign:
        """Of the pool: turns that begin, messages that begin in them, and code that computes."""
        queue = len(self._system.pool.queue)
        if not queue:
            return Sign(TURNS, None, 0)
        workers = list(self._system.pool.workers)
        self._computed += self._computes(passed)
        begun = sum(worker.turns for worker in workers)
        return Sign(TURNS, (begun, tuple(worker.since for worker in workers), self._computed), queue)

    def _computes(self, passed: float) -> bool:
        """Whether workers have computed since the last look; the first look at one tells nothing."""
        pool = self._system.pool
        used = {w.ident: cpu for w in list(pool.workers) if (cpu := pool.cpu_seconds(w)) is not None}
        before, self._cpu = self._cpu, used
        return sum(cpu - before[ident] for ident, cpu in used.items() if ident in before) > passed * CPU_SHARE

    def _timers(self) -> Sign:
        """The first one that is due: it goes when it is fired."""
        first = None if self._system.is_virtual else self._system.timers.first()
        is_late = first is not None and self._system.clock.now() - first[0] > LATE
        return Sign(TIMERS, first, int(is_late))
