"""Who watches a loop: a handler that does not give it back in time is reported, with the place in its code."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from otpy.events.threads import LoopBlocked
from otpy.runtime.stacks import frame_line

if TYPE_CHECKING:
    from otpy.places.loop import LoopHome

__all__ = ["LoopWatch"]

QUIET_LOOKS = 4
"""Looks without any step before it goes to sleep."""


class LoopWatch:
    """Looks at a loop from the timers' thread while handlers run, and sleeps while none does.

    Only the steps of handlers are watched, not those of tasks beside them; and none on virtual time.
    """

    def __init__(self, home: LoopHome) -> None:
        """Sleep."""
        self._home = home
        self._limit = home.system.loop_blocked_after
        self.is_asleep = not home.system.is_virtual
        self._seen = -1
        self._since = 0.0
        self._quiet = 0
        self._is_told = False

    def wake(self) -> None:
        """Begin to look; called when a step begins while it sleeps."""
        self.is_asleep = False
        self._quiet = 0
        self._home.system.timers.after(self._limit / 2, self._look)

    def _look(self) -> None:
        home = self._home
        now, steps, worker = time.monotonic(), home.steps, home.running()
        if steps != self._seen:
            self._seen, self._since, self._quiet, self._is_told = steps, now, 0, False
        elif worker is None:
            self._quiet += 1
        elif now - self._since >= self._limit and not self._is_told:
            self._is_told = True
            self._report(now - self._since)
        if self._quiet <= QUIET_LOOKS:
            home.system.timers.after(self._limit / 2, self._look)
            return
        self.is_asleep = True  # set, then looked; who begins a step counts it, then looks whether this sleeps
        if home.steps != self._seen:
            self.wake()

    def _report(self, seconds: float) -> None:
        home = self._home
        worker = home.running()
        ref = None if worker is None else worker.ref
        if ref is not None:
            frame = frame_line(home.seat)
            home.system.events.emit(LoopBlocked(path=ref.path, seconds=seconds, frame=frame))
