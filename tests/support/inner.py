"""Trees and async actors that tests run in a process of their own; they are imported there."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from typing import Any

import otpy
from otpy.core.masking import HIDDEN
from support.far import Near, stuck

__all__ = ["Branch", "Headlong", "Leaf", "Secretive", "Shared", "Slow", "Stuck", "Waiter", "greet_later"]


class Leaf(otpy.GenServer):
    """Tells an actor outside of each of its births and ends."""

    trap_exit = True

    def init(self, near: Any, word: str) -> None:
        self.near, self.word = near, word
        near.cast(Near.note, ("up", word, os.getpid()))
        near.cast(Near.meet, self.ref)

    @otpy.call
    def thread(self) -> str:
        return threading.current_thread().name

    @otpy.cast
    def crash(self, text: str) -> None:
        raise ValueError(text)

    def terminate(self, reason: otpy.Reason) -> None:
        self.near.cast(Near.note, ("down", self.word, reason))


class Waiter(otpy.GenServer):
    """Lives on a loop."""

    def init(self, near: Any, word: str = "waiter") -> None:
        self.near, self.word = near, word
        self.log: list[Any] = []
        near.cast(Near.note, ("up", word, os.getpid()))
        near.cast(Near.meet, self.ref)

    @otpy.call
    async def sum(self, one: int, other: int) -> int:
        await asyncio.sleep(0)
        return int(await self.near.acall(Near.add, one, other))

    @otpy.call
    async def sum_by_name(self, name: str) -> int:
        return int(await self.system.ref(otpy.Name(name, Near)).acall(Near.add, 1, 2))

    @otpy.call
    async def where(self) -> tuple[int, str, str]:
        return os.getpid(), threading.current_thread().name, self.ref.path

    @otpy.call
    async def hang(self) -> None:
        self.near.cast(Near.meet, "hanging")
        try:
            await asyncio.sleep(1e6)
        finally:
            self.near.cast(Near.note, "cancelled")

    @otpy.call
    async def block(self) -> None:
        threading.Event().wait()

    @otpy.call
    async def crash(self, text: str) -> None:
        raise ValueError(text)


class Branch(otpy.Supervisor):
    """A whole tree: one child on the pool, one on a thread, one on the loop."""

    max_restarts, max_seconds = 2, 1e6

    def init(self, near: Any) -> None:
        self.near = near

    def children(self) -> list[otpy.ChildSpec]:
        return [
            otpy.child(Leaf, self.near, "pool").opts(id="pool", name="leaf"),
            otpy.child(Leaf, self.near, "thread").opts(id="thread", place="thread"),
            otpy.child(Waiter, self.near, "loop").opts(id="loop"),
        ]


class Shared(otpy.Supervisor):
    """Two of it may run, each in its process, with the same names inside."""

    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Slow).opts(name="slow")]


class Stuck(otpy.Supervisor):
    """A tree with a child that never comes back."""

    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(stuck).opts(shutdown=otpy.INFINITY)]


class Slow(otpy.GenServer):
    """Handles what it gets when it is told to go on."""

    def init(self) -> None:
        self.log: list[Any] = []
        self.near: Any = None

    def handle_call(self, request: Any, caller: otpy.Caller) -> Any:
        """Be busy until somebody outside says `go`."""
        self.near = request
        return request.within(None).call(Near.wait)

    @otpy.cast
    def note(self, value: Any) -> None:
        self.log.append(value)

    @otpy.call
    def keep(self, value: Any) -> None:
        self.log.append(value)

    @otpy.call
    def read(self) -> list[Any]:
        return list(self.log)

    def terminate(self, reason: otpy.Reason) -> None:
        if self.near is not None:
            self.near.cast(Near.note, self.log)


class Secretive(otpy.GenServer):
    """Hides what it holds."""

    def init(self, word: str) -> None:
        self.word = word
        self.size = len(word)

    def redact(self, name: str, value: Any) -> object:
        return "no size" if name == "size" else value if name != "word" else HIDDEN


async def greet_later(near: Any) -> None:
    """A coroutine function as a child."""
    await asyncio.sleep(0)
    near.tell(("pid", os.getpid()))


class Headlong(otpy.GenServer):
    """Lets no other thread of its process run before it sleeps."""

    def init(self) -> None:
        sys.setswitchinterval(60.0)

    @otpy.cast
    def crash(self) -> None:
        raise ValueError
