"""Trees for `async with otpy.run_async(…)` blocks, and what their actors note on the loop."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import otpy
from support.doer import AsyncDoer, Doer

__all__ = ["LONG", "Ending", "Log", "Own", "Tree", "loop_of", "thread_name"]

LONG = 1_000.0


class Ending(otpy.GenServer):
    """Writes down that it ends, on the loop."""

    trap_exit = True

    async def init(self, name: str, log: list[str]) -> None:
        self.name, self.log = name, log

    async def terminate(self, reason: otpy.Reason) -> None:
        await asyncio.sleep(0)
        self.log.append(self.name)


class Tree(otpy.Supervisor):
    max_restarts = 0

    def init(self, log: list[str] | None = None) -> None:
        self.log = [] if log is None else log

    def children(self) -> list[otpy.ChildSpec]:
        return [
            otpy.child(AsyncDoer).opts(name="it"),
            otpy.child(Doer).opts(name="pool"),
            otpy.child(Doer).opts(id="thread", name="thread", place="thread"),
            *(otpy.child(Ending, name, self.log).opts(id=name) for name in "ab"),
        ]


class Log(list[str]):
    """Somebody on the same loop may wait until something stands in it."""

    def append(self, word: str) -> None:
        super().append(word)
        self.event.set()

    async def begun(self) -> None:
        await self.event.wait()

    @property
    def event(self) -> asyncio.Event:
        made = self.__dict__.setdefault("_event", asyncio.Event())
        assert isinstance(made, asyncio.Event)
        return made


class Own(Exception):
    """What a body raises."""


def thread_name(_: Any) -> str:
    return threading.current_thread().name


async def loop_of(_: Any) -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()
