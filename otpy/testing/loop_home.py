"""The home of loop actors in one run of an exploration."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from otpy.places.loop import LoopHome
from otpy.testing.loop import SeededLoop
from otpy.testing.order import SeededQueue

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from contextvars import Context

    from otpy.places.loop_worker import LoopWorker
    from otpy.testing.system import SeededSystem

__all__ = ["SeededLoopHome"]

LENDS = 0.5
"""How often a worker whose handler suspends lends its step to another, where it could."""


class SeededLoopHome(LoopHome):
    """As in production, but one turn with one message at a time, in an order that the seed decides."""

    batch = 1
    turns_at_once = 1
    system: SeededSystem
    loop: SeededLoop

    def __init__(self, system: SeededSystem) -> None:
        """Belong to one run."""
        super().__init__(system)
        self.queue = SeededQueue(system.pool.draw)

    def make_loop(self) -> asyncio.AbstractEventLoop:
        """One whose thread is the pool's, and whose time is the system's."""
        thread = self.system.pool.loop
        thread.start()
        made: Any = SeededLoop  # what it leaves abstract, for mypy, is refused at the end of its module
        loop: SeededLoop = made(self, thread)
        return loop

    def make_task(self, work: Coroutine[Any, Any, None], *, name: str, context: Context) -> asyncio.Task[None]:
        """One that the seed can tell from others."""
        return self.loop.create_task(work, name=name, context=context)

    def lend(self, lender: LoopWorker) -> None:
        """Now and then."""
        if self.system.pool.chance() < LENDS:
            super().lend(lender)

    def close(self) -> None:
        """Do nothing: what a stopped system still has to run is run."""

    def left(self) -> list[asyncio.Task[Any]]:
        """Tasks beside handlers that have not ended."""
        own = {worker.task for worker in self.workers}
        return [task for task in self._tasks() if task not in own]

    def cancel_all(self) -> None:
        """Cancel whatever has not ended."""
        for task in self._tasks():
            task.cancel()

    def end(self) -> None:
        """Drop all tasks; those that have not ended are closed where they are."""
        tasks = self._tasks()
        self.loop.close()
        self.system.threads.discard(self)
        for task in tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001 - it has been told
            with suppress(BaseException):
                task.get_coro().close()  # one that has not ended has one
        self.loop.forget()

    def _tasks(self) -> list[asyncio.Task[Any]]:
        """In the order of their making, so that the order of what is done to them is always the same."""
        return sorted(asyncio.all_tasks(self.loop), key=_number)

    def _start(self) -> bool:
        return True


def _number(task: asyncio.Task[Any]) -> int:
    return getattr(task, "number", 0)
