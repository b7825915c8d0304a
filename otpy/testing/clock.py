"""A clock that moves when it is told to, and fires the timers of its systems on the way."""

from __future__ import annotations

import math
import weakref
from typing import TYPE_CHECKING

from otpy.runtime.seat import here

if TYPE_CHECKING:
    from otpy.runtime.system import System

__all__ = ["VirtualClock"]


class VirtualClock:
    """Time for tests: `otpy.System(clock=VirtualClock())`; several systems may share one.

    All that waits on the system's clock then waits for `advance`: `send_after`, `send_interval`, `otpy.sleep`, timeouts
    of calls, of starts and of stops, and the windows in which restarts are counted.
    """

    is_virtual = True

    def __init__(self, start: float = 0.0) -> None:
        """Stand at `start` seconds."""
        self._now = start
        self._systems: list[weakref.ref[System]] = []

    def now(self) -> float:
        """Seconds; they stand still between two `advance`s."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Let time pass: fire what comes due, in order, and let the systems come to rest before and after each timer.

        Runs in the calling thread, which is no actor's: it waits until nothing runs any more (`System.wait_idle`).

        Raises:
            ValueError: time does not go back.
            RuntimeError: called by an actor, which never rests while it waits for rest.
            TimeoutError: something does not come to rest; the message says where each thread is.
        """
        if not seconds >= 0:
            text = f"time goes forward: seconds >= 0, got {seconds!r}"
            raise ValueError(text)
        seat = here()
        seat.may_block()
        if seat.ref is not None:
            text = "the clock is advanced by the test, not by an actor, which would wait for its own rest"
            raise RuntimeError(text)
        until = self._now + seconds
        self._settle()
        while self._fire_next(max(until, self._now)):
            self._settle()
        self._now = max(until, self._now)  # somebody may have made it leap

    def step(self) -> bool:
        """Go to the next timer, however far, and fire all that are due then, without waiting; False when there is none.

        Which of their actors gets the first turn is open, and so decided by the seed in an exploration.
        """
        if not self._fire_next(math.inf):
            return False
        while self._fire_next(self._now):
            pass
        return True

    def leap(self, seconds: float) -> None:
        """Be so much later at once, as after a machine was suspended: what comes due in between has not fired.

        Runs in any thread, also an actor's, and waits for nobody. The next `advance` or `step` fires what is due.

        Raises:
            ValueError: time does not go back; the time of day may: `otpy.testing.faults.jump`.
        """
        if not seconds >= 0:
            text = f"time goes forward: seconds >= 0, got {seconds!r}"
            raise ValueError(text)
        self._now += seconds

    def attach(self, system: System) -> None:
        """Move the time of a system; called by each that is made with this clock, and held weakly."""
        self._systems.append(weakref.ref(system))

    def _fire_next(self, until: float) -> bool:
        """Fire the earliest timer that is due by then, of the system that was made first."""
        timers = [system.timers for system in self._alive()]
        dues = [math.inf if (due := each.next_due()) is None else due for each in timers]
        first = min(dues, default=math.inf)
        if first > until or first == math.inf:
            return False
        self._now = max(self._now, first)
        return timers[dues.index(first)].fire_due()

    def _settle(self) -> None:
        for system in self._alive():
            system.wait_idle()
            if system.watchdog is not None:
                system.watchdog.note_messages()

    def _alive(self) -> list[System]:
        systems = [system for link in self._systems if (system := link()) is not None]
        if len(systems) < len(self._systems):
            self._systems = [weakref.ref(system) for system in systems]
        return systems
