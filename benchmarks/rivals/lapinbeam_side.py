"""lapinbeam: asyncio actors under a supervisor, names unique in their node; local sends only, its wire is not used."""

from __future__ import annotations

import asyncio
import itertools
import time
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from benchmarks.rivals.on_asyncio import Measures, Rival, Tally

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

lapinbeam: Any = import_module("lapinbeam")  # Any: it has no annotations
VERSION = version("lapinbeam")


class Worker:
    def __init__(self, begun: Callable[[], None]) -> None:
        begun()

    async def receive(self, message: object) -> None:
        await lapinbeam.current_message().reply(message)


class Counter:
    def __init__(self, tally: Tally) -> None:
        self.tally = tally

    async def receive(self, message: object) -> None:
        self.tally.hit()


class Caller:
    async def receive(self, message: Any) -> None:  # Any: a target of its own type
        target, count, took = message
        began = time.perf_counter()
        await asks(target, count)
        took.set_result(time.perf_counter() - began)


class Link:
    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        self.next: Any = None

    async def receive(self, message: Any) -> None:  # Any: first the neighbour, then hops
        if not isinstance(message, int):
            self.next = message
        elif message:
            await self.next.send(message - 1)
        else:
            self.tally.hit()


class Sleeper(Counter):
    async def receive(self, message: Any) -> None:  # Any: seconds
        await asyncio.to_thread(time.sleep, message)
        self.tally.hit()


class Slow:
    def __init__(self, nap: float) -> None:
        self.nap = nap

    async def receive(self, message: object) -> None:
        self.nap, nap = 0.0, self.nap
        if nap:
            await asyncio.sleep(nap)
        await lapinbeam.current_message().reply(message)


class Asker(Counter):
    async def receive(self, message: Any) -> None:  # Any: a target of its own type
        await message.ask(None, timeout=None)
        self.tally.hit()


class Fragile:
    def __init__(self, ups: asyncio.Queue[float]) -> None:
        ups.put_nowait(time.perf_counter())

    async def receive(self, message: object) -> None:
        raise RuntimeError("boom")


async def asks(ref: Any, count: int) -> None:  # Any: its reference
    for number in range(count):
        await ref.ask(number)


class Lapinbeam(Rival):
    async def open(self) -> None:
        self.node = lapinbeam.Node("bench@127.0.0.1:0")
        await self.node.start()
        self.supervisor = lapinbeam.Supervisor(node=self.node, max_restarts=1_000_000, restart_window=1.0)
        self.numbers = itertools.count()

    async def close(self) -> None:
        await self.node.stop()

    def spawn(self, cls: type, *args: object) -> Any:  # Any: its reference
        """Start one actor; a name is a class's, so the class is named anew for each."""
        return self.supervisor.spawn(lapinbeam.actor(name=f"actor-{next(self.numbers)}")(cls), *args)

    async def workers(self, count: int) -> Sequence[Any]:
        tally = Tally(count)
        refs = [self.spawn(Worker, tally.hit) for _ in range(count)]
        await tally.done.wait()
        return refs

    async def counter(self, tally: Tally) -> Any:
        return self.spawn(Counter, tally)

    async def cast(self, ref: Any, count: int) -> None:
        for number in range(count):
            await ref.send(number)

    async def call(self, ref: Any, count: int) -> None:
        await asks(ref, count)

    async def call_from_actor(self, ref: Any, count: int) -> float:
        took: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        await self.spawn(Caller).send((ref, count, took))
        return await took

    async def ring(self, size: int, tally: Tally) -> Callable[[int], Awaitable[None]]:
        links = [self.spawn(Link, tally) for _ in range(size)]
        for link, neighbour in zip(links, links[1:] + links[:1], strict=True):
            await link.send(neighbour)
        send: Callable[[int], Awaitable[None]] = links[0].send
        return send

    async def naps(self, count: int, seconds: float) -> Callable[[], Awaitable[None]]:
        tally = Tally(count)
        return self.all_at_once([self.spawn(Sleeper, tally) for _ in range(count)], seconds, tally)

    async def askers(self, count: int, seconds: float) -> Callable[[], Awaitable[None]]:
        tally, server = Tally(count), self.spawn(Slow, seconds)
        return self.all_at_once([self.spawn(Asker, tally) for _ in range(count)], server, tally)

    def all_at_once(self, refs: Sequence[Any], message: object, tally: Tally) -> Callable[[], Awaitable[None]]:
        async def go() -> None:
            for ref in refs:
                await ref.send(message)
            await tally.done.wait()

        return go

    async def fragile(self, count: int, ups: asyncio.Queue[float]) -> Sequence[Any]:
        return [self.spawn(Fragile, ups) for _ in range(count)]

    async def crash(self, ref: Any) -> None:
        await ref.send("boom")


MEASURES = Measures(Lapinbeam).by_name()
