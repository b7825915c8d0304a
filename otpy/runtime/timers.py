"""Timers on the system's clock: one heap, and with a real clock one thread that waits for the next due one."""

from __future__ import annotations

import heapq
import logging
import math
import threading
import time
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any

from otpy.runtime.seat import LONGEST, take_lock

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.core.clock import Clock

__all__ = ["MonotonicClock", "Timer", "Timers"]

log = logging.getLogger("otpy")

FEW = 64
"""Cancelled timers that may lie in the heap until they are due; making the heap anew for fewer is not worth it."""


class MonotonicClock:
    """The clock of production: never goes back, whatever happens to the time of day."""

    is_virtual = False

    def now(self) -> float:
        """Seconds since some point in the past."""
        return time.monotonic()


class Timer:
    """One thing to do at one time, or again and again; cancelling it twice, or after it fired, is harmless."""

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
        with self.service.guard:  # firing takes the action under the same lock: one of the two comes first
            is_pending = self.action is not None
            self.action, self.args = None, ()
            if is_pending:
                self.service.note_cancelled()
        if self.owner is not None:
            self.owner.discard(self)
        return is_pending

    def fire(self, now: float) -> bool:
        """Do it; True when it is to be done again. A late interval does not catch up: the next one is in the future."""
        with self.service.guard:
            action, args = self.action, self.args
            if action is None:
                return False
            if self.period is None:
                self.action, self.args, self.fired = None, (), True
        if self.owner is not None and self.fired:
            self.owner.discard(self)
        try:
            action(*args)
        except Exception:
            log.exception("a timer's action failed")
        if self.period is None:
            return False
        self.due = max(self.due + self.period, now + self.period / 2)
        return self.action is not None


class Timers:
    """All timers of a system."""

    def __init__(self, clock: Clock) -> None:
        """No thread starts before the first timer does; with a virtual clock none ever starts."""
        self.clock = clock
        self.guard = threading.RLock()  # guards the heap and who acts on a timer; RLock: a `__del__` may set a timer
        self.is_stranded = False  # a thread was needed and could not be had
        self._heap: list[tuple[float, int, Timer]] = []
        self._numbers = count()
        self._cancelled = 0
        # Free while there is something to look at. A lock and no Event: a `__del__` or a signal handler that sets a
        # timer in the middle of an Event's own code would wait for itself.
        self._bell = take_lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    def after(
        self, seconds: float, action: Callable[..., object], *args: object, owner: set[Timer] | None = None
    ) -> Timer:
        """Call `action(*args)` once, so many seconds from now, on the timer thread: it must be quick.

        Args:
            seconds: none, or less, is at once.
            action: what to call.
            *args: its arguments.
            owner: a set that holds the timer until it fired or was cancelled.
        """
        return self._add(Timer(self, self._due(max(seconds, 0.0)), action, args), owner)

    def at(self, due: float, action: Callable[..., object], *args: object) -> Timer:
        """Call `action(*args)` once, at that time of the clock."""
        return self._add(Timer(self, due, action, args), None)

    def every(
        self, period: float, action: Callable[..., object], *args: object, owner: set[Timer] | None = None
    ) -> Timer:
        """Call `action(*args)` again and again, the first time after one period (seconds)."""
        timer = Timer(self, self._due(period), action, args)
        timer.period = period
        return self._add(timer, owner)

    def next_due(self) -> float | None:
        """When the next timer is due."""
        with self.guard:
            self._drop_cancelled()
            return self._heap[0][0] if self._heap else None

    def first(self) -> tuple[float, int] | None:
        """When the first one is due, cancelled or not, and its number; takes no lock, for who asks if this goes on."""
        try:
            due, number, _ = self._heap[0]
        except IndexError:
            return None
        return due, number

    def pending(self) -> list[Timer]:
        """All that are set, the next one first; tests look here for what was left behind."""
        with self.guard:
            entries = sorted(self._heap, key=lambda entry: entry[:2])
            return [timer for _, _, timer in entries if timer.action is not None]

    def fire_due(self) -> bool:
        """Fire the first timer that is due; False when none is."""
        with self.guard:
            self._drop_cancelled()
            if not self._heap or self._heap[0][0] > self.clock.now():
                return False
            timer = heapq.heappop(self._heap)[2]
        if timer.fire(self.clock.now()):
            self._push(timer)
        return True

    def note_cancelled(self) -> None:
        """Count a cancelled timer, with the guard held; when they are most of the heap it is made anew without them."""
        self._cancelled += 1
        if self._cancelled > FEW and self._cancelled * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if entry[2].action is not None]
            heapq.heapify(self._heap)
            self._cancelled = 0

    def revive(self) -> None:
        """Try again to get the thread that could not be had."""
        with self.guard:
            if self.is_stranded and not self._closed:
                self._start_thread()

    def close(self) -> None:
        """Fire nothing more and end the thread."""
        with self.guard:
            self._closed = True
            self._heap.clear()
            thread = self._thread
        self._ring()
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=5.0)

    def close_in_child(self) -> None:
        """In a forked process: the thread is gone, and may have held the guard."""
        self.guard = threading.RLock()
        self._closed = True
        self._thread = None

    def _due(self, seconds: float) -> float:
        if math.isnan(seconds):
            text = f"a time is a number of seconds, got {seconds!r}"
            raise ValueError(text)
        return self.clock.now() + seconds

    def _add(self, timer: Timer, owner: set[Timer] | None) -> Timer:
        if owner is not None:
            timer.owner = owner
            owner.add(timer)  # before it can fire, which takes it out again
        self._push(timer)
        return timer

    def _push(self, timer: Timer) -> None:
        with self.guard:
            if self._closed:
                return
            heapq.heappush(self._heap, (timer.due, next(self._numbers), timer))
            if self.clock.is_virtual:
                return
            if self._thread is None:
                self._start_thread()
            elif self._heap[0][2] is timer:
                self._ring()

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._run, name="otpy-timers", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # can't start new thread; the watchdog tries again
            self.is_stranded = True
        else:
            self._thread, self.is_stranded = thread, False

    def _ring(self) -> None:
        with suppress(RuntimeError):  # it rings already
            self._bell.release()

    def _drop_cancelled(self) -> None:
        while self._heap and self._heap[0][2].action is None:
            heapq.heappop(self._heap)
            self._cancelled = max(0, self._cancelled - 1)

    def _run(self) -> None:
        while not self._closed:
            due = self.next_due()
            wait = math.inf if due is None else due - self.clock.now()
            if wait <= 0:
                self.fire_due()
            else:
                self._bell.acquire(timeout=min(wait, LONGEST))
