"""Timers on the system's clock: one heap, and with a real clock one thread that waits for the next due one."""

from __future__ import annotations

import heapq
import logging
import threading
import time
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.core.clock import Clock

__all__ = ["MonotonicClock", "Timer", "Timers"]

log = logging.getLogger("otpy")


class MonotonicClock:
    """The clock of production: never goes back, whatever happens to the time of day."""

    is_virtual = False

    def now(self) -> float:
        """Seconds since some point in the past."""
        return time.monotonic()


class Timer:
    """One thing to do at one time; cancelling it twice, or after it fired, is harmless."""

    __slots__ = ("action", "args", "due", "fired", "owner", "period", "service")

    def __init__(self, service: Timers, due: float, action: Callable[..., object], args: tuple[Any, ...]) -> None:
        """Made by `Timers`."""
        self.service = service
        self.due = due
        self.action: Callable[..., object] | None = action
        self.args = args
        self.period: float | None = None
        self.owner: set[Timer] | None = None
        self.fired = False

    def cancel(self) -> bool:
        """Do it not; False when it was done or cancelled before. OTP: erlang:cancel_timer/1."""
        action, self.action = self.action, None
        if self.owner is not None:
            self.owner.discard(self)
        if action is None or self.fired:
            return False
        self.args = ()
        self.service.note_cancelled()
        return True

    def fire(self, now: float) -> bool:
        """Do it; True when it is to be done again. A late interval does not catch up: the next one is in the future."""
        action = self.action
        if action is None:
            return False
        self.fired = self.period is None
        try:
            action(*self.args)
        except Exception:
            log.exception("a timer's action failed")
        if self.period is None:
            if self.owner is not None:
                self.owner.discard(self)
            return False
        self.due = max(self.due + self.period, now + self.period / 2)
        return self.action is not None


class Timers:
    """All timers of a system."""

    def __init__(self, clock: Clock) -> None:
        """No thread starts before the first timer does; with a virtual clock none ever starts."""
        self.clock = clock
        self._changed = threading.Condition(threading.RLock())  # guards the heap; RLock: a `__del__` may set a timer
        self._heap: list[tuple[float, int, Timer]] = []
        self._numbers = count()
        self._cancelled = 0
        self._thread: threading.Thread | None = None
        self._closed = False

    def after(self, seconds: float, action: Callable[..., object], *args: object) -> Timer:
        """Call `action(*args)` once, so many seconds from now, on the timer thread: it must be quick."""
        timer = Timer(self, self.clock.now() + max(seconds, 0.0), action, args)
        self._add(timer)
        return timer

    def every(self, period: float, action: Callable[..., object], *args: object) -> Timer:
        """Call `action(*args)` again and again, the first time after one period (seconds)."""
        timer = Timer(self, self.clock.now() + period, action, args)
        timer.period = period
        self._add(timer)
        return timer

    def next_due(self) -> float | None:
        """When the next timer is due."""
        with self._changed:
            self._drop_cancelled()
            return self._heap[0][0] if self._heap else None

    def fire_due(self) -> bool:
        """Fire the first timer that is due; False when none is."""
        with self._changed:
            self._drop_cancelled()
            if not self._heap or self._heap[0][0] > self.clock.now():
                return False
            timer = heapq.heappop(self._heap)[2]
        if timer.fire(self.clock.now()):
            self._add(timer)
        return True

    def note_cancelled(self) -> None:
        """Count a cancelled timer; when they are most of the heap it is made anew without them."""
        with self._changed:
            self._cancelled += 1
            if self._cancelled > 64 and self._cancelled * 2 > len(self._heap):
                self._heap = [entry for entry in self._heap if entry[2].action is not None]
                heapq.heapify(self._heap)
                self._cancelled = 0

    def close(self) -> None:
        """Fire nothing more and end the thread."""
        with self._changed:
            self._closed = True
            self._heap.clear()
            self._changed.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=5.0)

    def _add(self, timer: Timer) -> None:
        with self._changed:
            if self._closed:
                return
            heapq.heappush(self._heap, (timer.due, next(self._numbers), timer))
            if self.clock.is_virtual:
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="otpy-timers", daemon=True)
                self._thread.start()
            elif self._heap[0][2] is timer:
                self._changed.notify()

    def _drop_cancelled(self) -> None:
        while self._heap and self._heap[0][2].action is None:
            heapq.heappop(self._heap)
            self._cancelled = max(0, self._cancelled - 1)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._drop_cancelled()
                if self._closed:
                    return
                if not self._heap:
                    self._changed.wait()
                    continue
                wait = self._heap[0][0] - self.clock.now()
                if wait > 0:
                    self._changed.wait(min(wait, threading.TIMEOUT_MAX))
                    continue
            self.fire_due()
