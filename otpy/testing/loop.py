"""The event loop of an exploration: what is ready waits in the pool's run queue, and its timers are the system's.

asyncio promises that callbacks run in the order in which they were scheduled, and nothing about the order in which
tasks go on. So each task is a strand of its own, of which any may come next, and all plain callbacks are one.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from typing import TYPE_CHECKING, Any, NoReturn, TypeVarTuple, Unpack
from weakref import WeakSet

from otpy.places.loop_seat import OWNER
from otpy.runtime.seat import Slot, sit
from otpy.testing.errors import RealWorldError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine
    from contextvars import Context

    from otpy.places.loop_seat import TaskSeat
    from otpy.runtime.ref import Ref
    from otpy.runtime.timers import Timer
    from otpy.testing.loop_home import SeededLoopHome
    from otpy.testing.loop_thread import LoopThread

__all__ = ["SeededLoop", "SeededTask", "Strand"]


Ts = TypeVarTuple("Ts")


class Strand(Slot):
    """What is ready in one task, or all callbacks that belong to none; an item of the run queue while there is any."""

    __slots__ = ("handles", "loop", "task")

    def __init__(self, loop: SeededLoop, thread: LoopThread, task: asyncio.Task[Any] | None) -> None:
        """Have nothing ready. Who is drawn is handed the thread's token, and waits where the thread does."""
        self.loop = loop
        self.task = task
        self.handles: deque[asyncio.Handle] = deque()
        self.claim, self.value = [], None
        self.seat, self.lock = thread, thread.rest.lock

    def worker(self) -> TaskSeat | None:
        """Whose task it is, if it is that of a worker."""
        return next((worker for worker in self.loop.home.workers if worker.task is self.task), None)

    def owner(self) -> Ref[Any] | None:
        """The actor whose code has made the task."""
        return getattr(self.task, "owner", None)

    def text(self) -> str:
        """What goes on; nothing is said of what belongs to the machinery."""
        if self.task is not None:
            return f"{self.task.get_name()} goes on"
        callback: Any = self.handles[0]._callback  # type: ignore[attr-defined]  # noqa: SLF001 - its own
        is_own = str(getattr(callback, "__module__", "")).partition(".")[0] in {"otpy", "asyncio"}
        return "" if is_own else f"calls {getattr(callback, '__qualname__', callback)}"


class SeededTask(asyncio.Task[Any]):
    """A task whose place in a set follows from its number: a TaskGroup cancels its tasks in the order of a set."""

    def __init__(self, number: int, owner: Ref[Any] | None, *args: Any, **options: Any) -> None:
        """As `asyncio.Task`; of the actor whose code makes it."""
        self.number = number
        self.owner = owner
        super().__init__(*args, **options)

    def __hash__(self) -> int:
        return self.number


class SeededFuture(asyncio.Future[Any]):
    """A future whose place in a set follows from its number."""

    def __init__(self, number: int, loop: asyncio.AbstractEventLoop) -> None:
        """As `asyncio.Future`."""
        self.number = number
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self.number


class SeededTimer(asyncio.TimerHandle):
    """A handle that is ready at some time of the system's clock."""

    __slots__ = ("timer",)

    timer: Timer


class SeededLoop(asyncio.AbstractEventLoop):
    """A loop for one run. It has no sockets, processes or threads, and says so to who asks for them."""

    def __init__(self, home: SeededLoopHome, thread: LoopThread) -> None:
        """Belong to a home; each step is run by the thread."""
        self.home = home
        self._system = home.system
        self._pool = home.system.pool
        self._thread = thread
        self._numbers = 0
        self._strands: dict[asyncio.Task[Any] | None, Strand] = {}
        self._factory: Any = None
        self._handler: Any = None
        self._is_closed = False
        self._generators: WeakSet[AsyncGenerator[Any, Any]] = WeakSet()
        self._made: WeakSet[SeededTask] = WeakSet()

    # What the thread of the loop does.

    def enter(self) -> None:
        """Be the running loop of the calling thread, which takes the seat of loop actors."""
        sit(self.home.seat)
        asyncio._set_running_loop(self)  # noqa: SLF001 - for event loops, and documented for them
        sys.set_asyncgen_hooks(firstiter=self._generators.add, finalizer=self._finish_generator)

    def step(self, strand: Strand) -> None:
        """Run what is ready first in a strand."""
        handle = strand.handles.popleft()
        if strand.handles:
            self._pool.queue.append(strand)
        else:
            del self._strands[strand.task]
        if not handle.cancelled():
            handle._run()  # noqa: SLF001 - for event loops

    def _add(self, handle: asyncio.Handle) -> None:
        owner = getattr(handle._callback, "__self__", None)  # type: ignore[attr-defined]  # noqa: SLF001 - its own
        task = owner if isinstance(owner, asyncio.Task) else None
        strand = self._strands.get(task)
        if strand is None:
            strand = self._strands[task] = Strand(self, self._thread, task)
            strand.handles.append(handle)
            self._pool.resume(strand)
        else:
            strand.handles.append(handle)

    # What asyncio asks of a loop.

    def time(self) -> float:
        """Seconds on the system's clock."""
        return self._system.clock.now()

    def call_soon(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Have a callback run, after those that were scheduled before it."""
        self._check_open()
        handle = asyncio.Handle(callback, args, self, context)
        self._add(handle)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """The same; only who has the pool's token runs at all."""
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self, delay: float, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Have a callback run so many seconds from now."""
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Have a callback run at that time."""
        self._check_open()
        handle = SeededTimer(when, callback, args, self, context)
        handle.timer = self._system.timers.at(when, self._add, handle)
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        if isinstance(handle, SeededTimer):
            handle.timer.cancel()

    def create_future(self) -> asyncio.Future[Any]:
        """A future of this loop."""
        return SeededFuture(self._next_number(), self)

    def create_task(  # type: ignore[override]  # newer Pythons have more options, which are passed on
        self, coro: Coroutine[Any, Any, Any], *, name: str | None = None, **options: Any
    ) -> asyncio.Task[Any]:
        """A task of this loop, with a name that is the same in each run."""
        self._check_open()
        number = self._next_number()
        if self._factory is not None:
            task: asyncio.Task[Any] = self._factory(self, coro, name=name, **options)
            return task
        context = options.get("context")
        owner = OWNER.get() if context is None else context.get(OWNER)
        made = SeededTask(number, owner, coro, loop=self, name=name or f"Task-{number}", **options)
        self._made.add(made)
        return made

    def set_task_factory(self, factory: Any) -> None:
        """Have tasks made by another factory; None: by the loop."""
        self._factory = factory

    def get_task_factory(self) -> Any:
        """What makes tasks."""
        return self._factory

    def run_forever(self) -> None:
        """Not again."""
        text = "the exploration runs this event loop"
        raise RuntimeError(text)

    def run_until_complete(self, future: object) -> Any:  # noqa: ARG002 - as asyncio has it
        """Not again."""
        self.run_forever()

    def stop(self) -> None:
        """Not before the run is over."""
        self.run_forever()

    def is_running(self) -> bool:
        """It runs as long as its exploration."""
        return not self._is_closed

    def is_closed(self) -> bool:
        """Whether its run is over."""
        return self._is_closed

    def close(self) -> None:
        """Take nothing more."""
        self._is_closed = True
        self._strands.clear()

    def forget(self) -> None:
        """Leave asyncio's list of all tasks, which each run looks through: those of past runs would stay in circles."""
        for task in self._made:
            asyncio._unregister_task(task)  # noqa: SLF001 - for who writes tasks, and documented for them

    def get_debug(self) -> bool:
        """No."""
        return False

    def set_debug(self, enabled: bool) -> None:  # noqa: FBT001 - as asyncio has it
        """Do nothing."""

    def set_exception_handler(self, handler: Any) -> None:
        """Have somebody else told of errors that nobody has caught."""
        self._handler = handler

    def get_exception_handler(self) -> Any:
        """Who is told of errors that nobody has caught."""
        return self._handler

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """Log an error that nobody has caught."""
        if not self._system.is_quiet:
            asyncio.BaseEventLoop.default_exception_handler(self, context)  # type: ignore[arg-type]  # it needs none of its own

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Tell of an error that nobody has caught."""
        if self._handler is None:
            self.default_exception_handler(context)
        else:
            self._handler(self, context)

    async def shutdown_asyncgens(self) -> None:
        """Close the asynchronous generators that were begun and not ended."""
        for generator in list(self._generators):
            await generator.aclose()

    def _finish_generator(self, generator: AsyncGenerator[Any, Any]) -> None:
        self._generators.discard(generator)
        if not self._is_closed:
            self.create_task(generator.aclose())

    def _next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _check_open(self) -> None:
        if self._is_closed:
            text = "Event loop is closed"  # as asyncio says it
            raise RuntimeError(text)


def _refusal(name: str) -> Any:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise RealWorldError(name)

    return refuse


for _name in dir(asyncio.AbstractEventLoop):
    if not _name.startswith("_") and getattr(SeededLoop, _name) is getattr(asyncio.AbstractEventLoop, _name):
        setattr(SeededLoop, _name, _refusal(_name))
