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

LONGEST_BEAT = 2.0
"""Seconds that count between two looks, at most: twice the time between them. What is longer was a pause of the
process, or of the machine, or a call that kept the interpreter's lock, in which nothing could go on."""
LATE = 1.0
"""Seconds after which a timer that is due counts as one that somebody waits for."""
CPU_SHARE = 0.2
"""A worker that used more of the time between two looks than this computes, and is at work. As in the watchdog."""


class Pulse:
    """Written by the watchdog's thread alone, read by any."""

    def __init__(self, system: System, now: Callable[[], float] = time.monotonic) -> None:
        """Have seen nothing; `now` tells real seconds, for a virtual clock stands while something hangs."""
        self._system = system
        self._now = now
        self._beat_at: float | None = None
        self._cpu: dict[int, float] = {}
        self._computed = 0
        self.found: Mapping[str, Standstill] = {}
        """What stood still at the last look."""

    def beat(self) -> None:
        """Look once."""
        now = self._now()
        passed = 0.0 if self._beat_at is None else now - self._beat_at
        self._beat_at = now
        self.found = standstills(self.found, self._signs(passed), min(passed, LONGEST_BEAT))

    def _signs(self, passed: float) -> Iterator[Sign]:
        yield self._turns(passed)
        yield self._timers()
        for home in list(self._system.threads):
            yield Sign(home.place, home.turns(), home.in_line())

    def _turns(self, passed: float) -> Sign:
        """Of the pool: turns that begin, messages that begin in them, and code that computes."""
        workers, queue = list(self._system.pool.workers), len(self._system.pool.queue)
        if queue:
            self._computed += self._computes(passed)
        begun = sum(worker.turns for worker in workers)
        return Sign(TURNS, (begun, tuple(worker.since for worker in workers), self._computed), queue)

    def _computes(self, passed: float) -> bool:
        """Whether any worker has computed since the last look; the first look at one tells nothing."""
        pool = self._system.pool
        used = {w.ident: cpu for w in list(pool.workers) if (cpu := pool.cpu_seconds(w)) is not None}
        before, self._cpu = self._cpu, used
        return any(cpu - before[ident] > passed * CPU_SHARE for ident, cpu in used.items() if ident in before)

    def _timers(self) -> Sign:
        """The first one that is due: it goes when it is fired."""
        first = None if self._system.is_virtual else self._system.timers.first()
        is_late = first is not None and self._system.clock.now() - first[0] > LATE
        return Sign(TIMERS, first, int(is_late))
