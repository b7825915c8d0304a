"""everything-is-an-actor: asyncio actors, children of a parent that supervises them; needs Python 3.12."""

from __future__ import annotations

import asyncio
import itertools
import time
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from actor_for_agents import (  # type: ignore[import-not-found, unused-ignore]  # a rival may be absent
    Actor,
    ActorSystem,
    OneForOneStrategy,
)

from benchmarks.rivals.on_asyncio import Measures, Rival, Tally

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

VERSION = version("everything-is-an-actor")
NO_LIMIT = 86_400.0
"""Seconds for an `ask` that must not time out; it has no way to say never."""


class Parent(Actor):  # type: ignore[misc, unused-ignore]  # Any where the rival is absent
    """Starts children when asked; restarts them without a limit."""

    def supervisor_strategy(self) -> Any:  # Any: the rival's strategy
        return OneForOneStrategy(max_restarts=1_000_000, within_seconds=1.0)

    async def on_receive(self, message: tuple[type, list[str]]) -> list[Any]:
        cls, names = message
        return [await self.context.spawn(cls, name) for name in names]


class Worker(Actor):  # type: ignore[misc, unused-ignore]  # Any where the rival is absent
    async def on_receive(self, message: object) -> object:
        return message


class Counter(Actor):  # type: ignore[misc, unused-ignore]  # Any where the rival is absent
    tally: Tally

    async def on_receive(self, message: object) -> None:
        self.tally.hit()


class Caller(Actor):  # type: ignore[misc, unused-ignore]  # Any where the rival is absent
    async def on_receive(self, message: tuple[Any, int]) -> float:
        began = time.perf_counter()
        await asks(*message)
        return time.perf_counter() - began


class Link(Counter):
    next: Any

    async def on_receive(self, message: Any) -> None:  # Any: first the neighbour, then hops
        if not isinstance(message, int):
            self.next = message
        elif message:
            await self.next.tell(message - 1)
        else:
            self.tally.hit()


class Sleeper(Counter):
    async def on_receive(self, message: Any) -> None:  # Any: seconds
        await self.context.run_in_executor(time.sleep, message)
        self.tally.hit()


class Slow(Actor):  # type: ignore[misc, unused-ignore]  # Any where the rival is absent
    nap: float

    async def on_receive(self, message: object) -> None:
        self.nap, nap = 0.0, self.nap
        if nap:
            await asyncio.sleep(nap)


class Asker(Counter):
    async def on_receive(self, message: Any) -> None:  # Any: a reference
        await message.ask(None, timeout=NO_LIMIT)
        self.tally.hit()


class Fragile(Actor):  # type: ignore[misc, unused-ignore]  # Any where the rival is absent
    ups: asyncio.Queue[float]

    async def on_started(self) -> None:
        self.ups.put_nowait(time.perf_counter())

    async def on_receive(self, message: object) -> None:
        raise RuntimeError("boom")


async def asks(ref: Any, count: int) -> None:  # Any: its reference
    for number in range(count):
        await ref.ask(number)


def told(cls: type, **attributes: object) -> type:
    """A class that knows these things: actors of this rival take no arguments."""
    return type(cls.__name__, (cls,), attributes)


class Everything(Rival):
    async def open(self) -> None:
        self.system = ActorSystem("bench")
        self.parent = await self.system.spawn(Parent, "parent")
        self.numbers = itertools.count()

    async def close(self) -> None:
        await self.system.shutdown()

    async def spawn(self, cls: type, count: int = 1) -> list[Any]:  # Any: its references
        names = [f"actor-{next(self.numbers)}" for _ in range(count)]
        refs: list[Any] = await self.parent.ask((cls, names), timeout=NO_LIMIT)
        return refs

    async def workers(self, count: int) -> Sequence[Any]:
        return await self.spawn(Worker, count)

    async def counter(self, tally: Tally) -> Any:
        return (await self.spawn(told(Counter, tally=tally)))[0]

    async def cast(self, ref: Any, count: int) -> None:
        for number in range(count):
            await ref.tell(number)

    async def call(self, ref: Any, count: int) -> None:
        await asks(ref, count)

    async def call_from_actor(self, ref: Any, count: int) -> float:
        (caller,) = await self.spawn(Caller)
        took: float = await caller.ask((ref, count), timeout=NO_LIMIT)
        return took

    async def ring(self, size: int, tally: Tally) -> Callable[[int], Awaitable[None]]:
        links = await self.spawn(told(Link, tally=tally), size)
        for link, neighbour in zip(links, links[1:] + links[:1], strict=True):
            await link.tell(neighbour)
        send: Callable[[int], Awaitable[None]] = links[0].tell
        return send

    async def naps(self, count: int, seconds: float) -> Callable[[], Awaitable[None]]:
        tally = Tally(count)
        return self.all_at_once(await self.spawn(told(Sleeper, tally=tally), count), seconds, tally)

    async def askers(self, count: int, seconds: float) -> Callable[[], Awaitable[None]]:
        tally = Tally(count)
        (server,) = await self.spawn(told(Slow, nap=seconds))
        return self.all_at_once(await self.spawn(told(Asker, tally=tally), count), server, tally)

    def all_at_once(self, refs: Sequence[Any], message: object, tally: Tally) -> Callable[[], Awaitable[None]]:
        async def go() -> None:
            for ref in refs:
                await ref.tell(message)
            await tally.done.wait()

        return go

    async def fragile(self, count: int, ups: asyncio.Queue[float]) -> Sequence[Any]:
        return await self.spawn(told(Fragile, ups=ups), count)

    async def crash(self, ref: Any) -> None:
        await ref.tell("boom")


MEASURES = Measures(Everything).by_name()
