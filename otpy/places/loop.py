"""The place `loop`: an event loop on a thread for actors whose handlers are coroutine functions."""

from __future__ import annotations

import asyncio
import logging
import threading
from asyncio.tasks import _enter_task, _leave_task  # public: docs.python.org/3/library/asyncio-extending.html
from collections import deque
from contextlib import suppress
from contextvars import Context
from threading import get_ident
from typing import TYPE_CHECKING, Any

from otpy.places.loop_crew import LoopCrew
from otpy.places.loop_seat import OWNER, LoopSeat, TaskSeat
from otpy.places.loop_watch import LoopWatch
from otpy.places.loop_worker import LoopWorker
from otpy.runtime.async_death import async_obey
from otpy.runtime.async_turn import async_settle
from otpy.runtime.death import LAST_BREATH
from otpy.runtime.seat import sit
from otpy.runtime.turn import after_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from otpy.runtime.home import Home, RunQueue
    from otpy.runtime.ref import Ref
    from otpy.runtime.seat import Seat
    from otpy.runtime.system import System

__all__ = ["LoopHome", "home_of"]

log = logging.getLogger("otpy")

SPARE_WORKERS = 256
"""Tasks kept for the next time many handlers are suspended at once."""

BATCH = 50
"""Messages one turn handles before the next actor gets the worker."""

TURNS = 32
"""Turns after which the loop looks at what else there is: sockets, timers, other threads."""

MAX_DEPTH = 16
"""Workers that may lend each other one step: a long chain of calls must not exhaust the interpreter's stack."""


class LoopHome:
    """Gives turns to all actors on one loop of a system, in the tasks of its `LoopWorker`s.

    As in the pool, who appends to `queue` then looks at `free`, and who adds to `free` then looks at `queue`. There is
    one token: the worker that has it takes the next actors; one whose handler suspends puts it back.
    """

    settle = staticmethod(async_settle)
    obey = staticmethod(async_obey)
    batch = BATCH
    turns_at_once = TURNS

    def __init__(self, system: System, place: str = "loop") -> None:
        """Have a loop, and no thread yet."""
        self.place = place
        self.system = system
        self.queue: RunQueue = deque()
        self.free: list[bool] = [True]
        self.seat = self.make_seat()
        self.loop = self.make_loop()
        self.steps = 0
        self.workers: set[TaskSeat] = set()
        self.suspended: set[TaskSeat] = set()
        self.watch = LoopWatch(self)
        self.spare: Context | None = None
        self._idle: list[LoopWorker] = []
        self._depth = 0  # how many workers lend each other one task's step just now
        self._posts: list[None] = []  # what other threads have told the loop, and it has not heard yet
        self._has_thread = False
        self._is_closing = False
        self._lock = threading.RLock()  # guards the start and the end; RLock: a `__del__` may send
        system.threads.add(self)

    def make_seat(self) -> LoopSeat:
        """The seat of its thread."""
        return LoopSeat(f"otpy-{self.place.replace(':', '-')}")

    def make_loop(self) -> asyncio.AbstractEventLoop:
        """The event loop."""
        return _new_loop()

    def make_task(self, work: Coroutine[Any, Any, None], *, name: str, context: Context) -> asyncio.Task[None]:
        """A task for a worker or a handler; no factory of the loop's own makes it, which might begin it at once."""
        return asyncio.Task(work, loop=self.loop, name=name, context=context)

    def crew(self, ref: Ref[Any]) -> LoopCrew:
        """For an actor that may have several handlers in flight."""
        return LoopCrew(self, ref)

    # For other threads.

    def engage(self) -> bool:
        """Have a worker begin a turn; False when the thread could not be had."""
        try:
            self.free.pop()
        except IndexError:
            return True
        try:
            if get_ident() == self.seat.ident:
                self._begin()
                if asyncio.current_task(self.loop) is None:  # a `__del__`, or a signal: the loop may be falling asleep
                    self.loop.call_soon_threadsafe(_nothing)
            elif not self._has_thread and not self._start():
                self.free.append(True)
                return False
            elif self.is_over():
                self._refuse()
            else:
                self.loop.call_soon_threadsafe(self._begin)
        except RuntimeError:
            if not self.is_over():
                raise
            self._refuse()
        return True

    def post(self, action: Callable[[], object]) -> None:
        """Have the loop do something; at once on its own thread."""
        if self.is_over():
            return
        if get_ident() == self.seat.ident:
            action()
            return
        self._posts.append(None)  # before the other thread can have done it: `is_idle` must see it
        try:
            self.loop.call_soon_threadsafe(self._hear, action)
        except RuntimeError:  # closed
            self._posts.pop()

    def is_over(self) -> bool:
        """Whether its loop will never run again."""
        return self.loop.is_closed()

    def seats(self) -> list[Seat]:
        """Those of its workers."""
        return list(self.workers)

    def turns(self) -> int:
        """How many turns have begun, or gone on."""
        return self.steps

    def is_idle(self) -> bool:
        """Whether all handlers have ended, or await something of otpy's."""
        is_at_rest = not self.queue and bool(self.free) and not self._posts
        return is_at_rest and all(worker.rests for worker in list(self.suspended))

    def in_line(self) -> int:
        """Actors that have something to do, and what other threads have told it.

        Not the suspended: which of them could go on, the loop alone knows.
        """
        return len(self.queue) + len(self._posts)

    def close(self) -> None:
        """Cancel what still runs, and let the thread end."""
        self._is_closing = True
        with self._lock:
            has_thread, self._has_thread = self._has_thread, True
        if has_thread:
            with suppress(RuntimeError):  # closed before
                self.loop.call_soon_threadsafe(self.loop.stop)
        else:
            self._end()

    def release(self) -> None:
        """Do nothing: others live on."""

    # On the loop's thread.

    def running(self) -> TaskSeat | None:
        """Which of its workers runs now; another system may share the thread."""
        worker = self.seat.worker
        return worker if worker is not None and worker.home is self else None

    def put_back(self) -> None:
        """A worker puts the token back, for its handler has suspended."""
        self.free.append(True)
        if self.queue:
            self.engage()

    def lend(self, lender: LoopWorker) -> None:
        """Have a resting worker go on in the step of another one's task, whose handler has suspended."""
        if not self._idle or self._depth >= MAX_DEPTH:
            return
        worker = self._idle.pop()
        self._depth += 1
        _leave_task(self.loop, lender.task)
        _enter_task(self.loop, worker.task)
        try:
            worker.run_lent()
        finally:
            _leave_task(self.loop, worker.task)
            _enter_task(self.loop, lender.task)
            self._depth -= 1

    def context_for(self, ref: Ref[Any]) -> Context:
        """A context for the next turn of an actor that has none of its own yet: for the first one that of all others.

        Most actors of a large system never change anything in it, and then need none until their next turn.
        """
        if ref.actor is not None:
            context = ref.new_context()
        else:
            context = self.spare = self.spare or Context()
        context.run(OWNER.set, ref)
        return context

    def return_context(self, ref: Ref[Any], *, is_used: bool = False) -> None:
        """Leave the context of a first turn to the actor that has it, if that has set anything or still needs it."""
        context = self.spare
        if context is None:
            return
        if is_used or len(context) > 1:
            ref.context, self.spare = context if ref.reason is None or is_used else None, None
        else:
            context.run(OWNER.set, None)

    def keep(self, worker: LoopWorker) -> bool:
        """Note that a worker rests; False when there are enough, and it may end."""
        if len(self._idle) >= SPARE_WORKERS:
            return False
        self._idle.append(worker)
        return True

    def forget(self, worker: LoopWorker) -> None:
        """A worker that may rest is cancelled, by a program that cancels all tasks of its loop."""
        with suppress(ValueError):
            self._idle.remove(worker)

    def notice_idle(self) -> None:
        """Tell those who wait for rest to look again."""
        if self.system.pool.idle_watchers:
            self.system.pool.notice_idle()

    def _begin(self) -> None:
        if self.watch.is_asleep:
            self.watch.wake()
        if self._idle:
            self._idle.pop().wake()
        elif not self.is_over():
            self.workers.add(LoopWorker(self))
        else:
            raise RuntimeError("the event loop is closed")

    def _hear(self, action: Callable[[], object]) -> None:
        try:
            action()
        finally:  # else nobody would ever find the loop at rest
            self._posts.pop()
            self.notice_idle()

    # Its thread.

    def _start(self) -> bool:
        with self._lock:
            if self._has_thread:
                return True
            try:
                threading.Thread(target=self._run, name=self.seat.thread_name, daemon=True).start()
            except RuntimeError:  # can't start new thread
                return False
            self._has_thread = True
        return True

    def _run(self) -> None:
        sit(self.seat)
        try:
            self.loop.run_forever()
            while not self._is_closing:
                log.error("%s: a handler, or a task of one, has stopped the event loop of all; it goes on", self.place)
                self.loop.run_forever()
            self._wind_up()
        finally:
            self._end()

    def _wind_up(self) -> None:
        """Cancel what is left, and wait a moment for it: only zombies and tasks beside handlers can be."""
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self.loop.run_until_complete(asyncio.wait(tasks, timeout=LAST_BREATH))
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())

    def _end(self) -> None:
        self.loop.close()
        self.drop_dead()
        self.system.threads.discard(self)
        self.system.pool.notice_idle()

    def _refuse(self) -> None:
        self.free.append(True)
        self.drop_dead()

    def drop_dead(self) -> None:
        """It is over: drop what dead actors held."""
        while self.queue:
            try:
                ref = self.queue.popleft()
            except IndexError:
                return
            if ref.reason is not None:
                after_turn(ref)


def _nothing() -> None: ...


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415 - an extra
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


def home_of(system: System, name: str | None) -> Home:
    """The home of the actors on a system's loop, or on one of another name; made when first asked for."""
    place = "loop" if name is None else f"loop:{name}"
    home = system.homes.get(place)
    if home is None:
        with system.lock:
            home = system.homes.get(place)
            if home is None:
                home = system.homes[place] = LoopHome(system, place)
    return home
