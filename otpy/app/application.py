"""A system that runs as a program: it can be waited for, looked into, and told to stop from outside."""

from __future__ import annotations

import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from otpy.core.late import asyncio
from otpy.core.reason import Killed, Reason, RestartLimit, Shutdown, is_clean
from otpy.drain.begin import begin
from otpy.drain.course import check_within
from otpy.drain.plan import SHARES, Phase
from otpy.runtime.death import kill
from otpy.runtime.draining import Draining
from otpy.runtime.links import Monitor, watch
from otpy.runtime.seat import here, sleep_on, take_lock
from otpy.runtime.system import System

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.drain.course import Course
    from otpy.runtime.stopping import Unstopped

__all__ = ["SHUTDOWN", "Application"]

SHUTDOWN = 25.0
"""Seconds in which a program must have drained and stopped; container platforms send SIGKILL after 30."""


class Application(System):
    """A system that runs as a program; `run` and `run_async` make it."""

    def __init__(self, name: str, **options: Any) -> None:
        """Made by `run` and `run_async`."""
        super().__init__(name, **options)
        # All of these may be touched in a signal handler that interrupts code which is about to touch them.
        self._ends: list[Reason | None] = []
        self._told = take_lock()  # free once there is an end
        self._waiters: dict[object, Callable[[], object]] = {}  # on event loops
        self._was_stopped = False
        self.awaits_root = True
        self.is_awaited = False
        """Whether anybody has ever waited for its end."""
        self.failure: str | None = None
        self.is_winding_up = False
        """Whether its block is being left: from then on nothing that ends is a failure."""
        self.shutdown = SHUTDOWN
        """Seconds in which it must have drained and stopped, once it was told to."""
        self.left: list[Unstopped] = []
        self.undone: tuple[str, ...] = ()
        """What its drain has left undone, in words."""
        self.on_too_many_zombies = self._give_up
        self.on_unheard: Callable[[], object] = _nothing
        """Called when it is told to stop, or fails, and nobody has ever waited for that; in any thread."""

    @property
    def is_told(self) -> bool:
        """Whether it was told to stop, or its root has ended."""
        return bool(self._ends)

    def request_stop(self, reason: str = "request_stop() was called", *, within: float | None = None) -> None:
        """Ask the program to drain and stop, from any thread or signal handler; returns at once.

        Args:
            reason: who wants it, in words: it is logged, and `system.draining.reason` from now on.
            within: seconds in which it must have stopped; its `shutdown` time unless given. The earliest of all such
                times holds.
        """
        seconds = self.shutdown if within is None else check_within(within)
        if self.draining is None:  # at once: whoever asks for work, or sends it here, is to know
            now = self.clock.now()
            self.draining = Draining(reason, now, now + seconds)
        self._end(None, is_urgent=True)
        self.timers.after(0.0, self._begin_drain, reason, seconds)
        if self.root is None or self.root.is_starting():  # nothing may hold up the end of what has not even begun
            self.timers.after(seconds * SHARES[Phase.DRAIN], self.end_start)

    def request_drain(
        self, path: str | None = None, *, within: float | None = None, reason: str = "request_drain() was called"
    ) -> Course:
        """Have the program, or what is at and below a path, drain and stop; from any thread, waits for nothing.

        Args:
            path: an actor; its supervisor keeps its specification. The whole program unless given.
            within: as for `request_stop`.
            reason: as for `request_stop`.

        Returns:
            How far it is; `wait()` waits for its end. A whole program stops when its block is left after that.

        Raises:
            NoSuchActorError: nobody is at that path.
        """
        seconds = self.shutdown if within is None else check_within(within)
        if path is None or path == self.name:
            self.request_stop(reason, within=seconds)
        return begin(self, reason, seconds, path=path)

    def begin_drain(self, reason: str) -> Course:
        """Have all of it drain, unless it does already; nobody who waits for its end is told."""
        return begin(self, reason, self.shutdown)

    def _begin_drain(self, reason: str, seconds: float) -> None:
        if not self.stopped:
            begin(self, reason, seconds)

    def hear_signal(self, number: int, wish: int) -> None:
        """Do what a signal asks for: the first time to drain and stop, then to drain no longer. In its handler."""
        name = signal.Signals(number).name
        self.request_stop(name)
        if wish > 1:
            self.timers.after(0.0, self._cut_drain, f"a second {name}")

    def _cut_drain(self, why: str) -> None:
        self.end_start()
        if not self.stopped:
            begin(self, why, self.shutdown).cut(why)

    def wait(self) -> Reason | None:
        """Block the calling thread until the program is told to stop (None) or the root has ended (its exit reason).

        Raises:
            BlockingError: on the thread of an event loop; `await_end` is its other form.
        """
        here().may_block()
        self.is_awaited = True
        while not self._ends:
            sleep_on(self._told)
        self._tell()  # for others who wait
        return self._ends[0]

    async def await_end(self) -> Reason | None:
        """As `wait`, awaited from a coroutine on any event loop."""
        self.is_awaited = True
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._waiters[future] = lambda: _wake(loop, future)
        try:
            if not self._ends:  # published, then looked
                await future
        finally:
            del self._waiters[future]
        return self._ends[0]

    def when_told(self, wake: Callable[[], object]) -> None:
        """Have `wake` called when the program is told to stop, or its root has ended; also in a signal handler."""
        self._waiters[object()] = wake

    def stop(self, reason: Reason | None = None, *, timeout: float = SHUTDOWN) -> list[Unstopped]:
        """As `System.stop`."""
        self._was_stopped = True
        return super().stop(reason, timeout=timeout)

    def watch_root(self) -> None:
        """Note when the root ends by itself; it has started."""
        self.awaits_root = False
        watch(_RootWatch(self))

    def end_start(self) -> None:
        """Kill the root if its start is not done, as when a program was told to stop while an `init` hangs."""
        if self.root is not None and self.root.is_starting():
            kill(self.root)

    def root_ended(self, reason: Reason) -> None:
        """The root has ended."""
        if self.is_winding_up:
            self._end(reason, is_urgent=False)
            return  # it was told to; what did not end in time is left over, no failure
        detail = reason.detail if isinstance(reason, Shutdown) else None
        gave_up = isinstance(detail, RestartLimit)
        was_late = self._was_stopped and isinstance(reason, Killed)  # the stop's own deadline; what is left says so
        if gave_up or not (is_clean(reason) or was_late):
            self.failure = self.failure or str(detail if gave_up else reason)
        self._end(reason, is_urgent=self.failure is not None)

    def _give_up(self) -> None:
        self.failure = f"more than {self.max_zombies} killed actors still run"
        self._end(None, is_urgent=True)

    def _end(self, reason: Reason | None, *, is_urgent: bool) -> None:
        self._ends.append(reason)
        self._tell()
        for wake in self._waiters.copy().values():
            wake()
        if is_urgent and not self.is_awaited:
            self.on_unheard()

    def _tell(self) -> None:
        with suppress(RuntimeError):  # it is free already
            self._told.release()


def _nothing() -> None: ...


def _wake(loop: asyncio.AbstractEventLoop, future: asyncio.Future[None]) -> None:
    with suppress(RuntimeError):  # closed
        loop.call_soon_threadsafe(_done, future)


def _done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class _RootWatch(Monitor):
    """Tells the application of its root's end."""

    __slots__ = ("app",)

    def __init__(self, app: Application) -> None:
        super().__init__(app.root, app.root, None)
        self.app = app

    def fire(self, reason: Reason) -> None:
        root = self.app.root  # what ended before it was watched has ended for its own reason, not for `NoProc`
        self.app.root_ended(reason if root is None or root.reason is None else root.reason)
