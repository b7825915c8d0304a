"""otpy's rows of actors on the event loop, and beside them what bare asyncio takes for the same."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Any

import otpy
from benchmarks.measure import memory, rate
from benchmarks.model import Figures
from benchmarks.otpy_tree import PATIENCE, bench

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.model import Job


class Server(otpy.GenServer):
    @otpy.call
    async def echo(self, value: int) -> int:
        return value

    @otpy.call
    async def call_often(self, target: otpy.Ref[Server], count: int) -> float:
        began = time.perf_counter()
        for number in range(count):
            await target.acall(Server.echo, number)
        return time.perf_counter() - began


class Link(otpy.GenServer):
    async def init(self, done: threading.Event) -> None:
        self.done = done

    @otpy.call
    async def join(self, neighbour: otpy.Ref[Link]) -> None:
        self.neighbour = neighbour

    @otpy.cast
    async def hop(self, left: int) -> None:
        if left:
            self.neighbour.cast(Link.hop, left - 1)
        else:
            self.done.set()


class Idle(otpy.GenServer):
    async def init(self, number: int) -> None:
        self.number = number


def call_async(job: Job) -> Figures:
    with bench() as b:
        caller, target = (b.start([b.spec(Server)])[0] for _ in range(2))
        return rate(job, lambda count: float(caller.within(PATIENCE).call(Server.call_often, target, count)))


def ring_async(job: Job) -> Figures:
    with bench() as b:
        done = threading.Event()
        links = b.start(b.specs(job.size("actors"), Link, done))
        for link, neighbour in zip(links, links[1:] + links[:1], strict=True):
            link.call(Link.join, neighbour)

        def batch(count: int) -> float:
            done.clear()
            began = time.perf_counter()
            links[0].cast(Link.hop, count)
            done.wait()
            return time.perf_counter() - began

        return rate(job, batch)


def loop_memory(job: Job) -> Figures:
    count = job.size("actors")
    with bench() as b:
        b.start(b.specs(100, Idle))  # the first ones load code
        before = memory()
        for _ in range(count // 1_000):
            b.start(b.specs(1_000, Idle))
        return Figures(values={"loop_memory": (memory() - before) / count})


def bare_call(job: Job) -> Figures:
    return rate(job, lambda count: asyncio.run(_bare_calls(count)))


async def _bare_calls(count: int) -> float:
    """A queue to ask through, and a future for each answer."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[Any] = asyncio.Queue()

    async def serve() -> None:
        while True:
            value, future = await queue.get()
            future.set_result(value)

    server = loop.create_task(serve())
    began = time.perf_counter()
    for number in range(count):
        future = loop.create_future()
        queue.put_nowait((number, future))
        await future
    took = time.perf_counter() - began
    server.cancel()
    return took


def bare_ring(job: Job) -> Figures:
    return rate(job, lambda count: asyncio.run(_bare_hops(job.size("actors"), count)))


async def _bare_hops(size: int, count: int) -> float:
    """A task and a queue for each link."""
    loop = asyncio.get_running_loop()
    queues: list[asyncio.Queue[int]] = [asyncio.Queue() for _ in range(size)]
    done = loop.create_future()

    async def link(own: asyncio.Queue[int], neighbour: asyncio.Queue[int]) -> None:
        while True:
            left = await own.get()
            if left:
                neighbour.put_nowait(left - 1)
            else:
                done.set_result(None)

    tasks = [loop.create_task(link(*pair)) for pair in zip(queues, queues[1:] + queues[:1], strict=True)]
    await asyncio.sleep(0)
    began = time.perf_counter()
    queues[0].put_nowait(count)
    await done
    took = time.perf_counter() - began
    for task in tasks:
        task.cancel()
    return took


MEASURES: dict[str, Callable[[Job], Figures]] = {
    "call_async": call_async,
    "ring_async": ring_async,
    "loop_memory": loop_memory,
}
FLOORS: dict[str, Callable[[Job], Figures]] = {"call_async": bare_call, "ring_async": bare_ring}
