"""What the rivals on asyncio share: an experiment is a coroutine on their own loop, the best place they have.

A rival says how it does each thing; here is what is timed. Its actors cannot compute and answer at once, so the rows
beside a computing actor have no figure for it.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

from benchmarks.measure import idle_percent, memory, rate, spread, threads, victims
from benchmarks.model import Figures

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from benchmarks.model import Job

MOST_ACTORS = 5_000
MOST_MESSAGES = 500_000


class Tally:
    """Counts down on the loop, and tells when nothing is left."""

    def __init__(self, left: int) -> None:
        self.left, self.done = left, asyncio.Event()

    def hit(self) -> None:
        self.left -= 1
        if not self.left:
            self.done.set()


class Rival(ABC):
    """One system of a rival, open for one batch. `Any` below: the rivals' references have types of their own."""

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @abstractmethod
    async def open(self) -> None:
        """Make the system and whatever supervises its actors."""

    @abstractmethod
    async def close(self) -> None:
        """Stop everything."""

    @abstractmethod
    async def workers(self, count: int) -> Sequence[Any]:
        """Start so many supervised actors that answer what they are asked; return when all have begun."""

    @abstractmethod
    async def counter(self, tally: Tally) -> Any:
        """Start an actor that hits `tally` at each message."""

    @abstractmethod
    async def cast(self, ref: Any, count: int) -> None:
        """Send so many messages."""

    @abstractmethod
    async def call(self, ref: Any, count: int) -> None:
        """Ask so many times, one after another."""

    @abstractmethod
    async def call_from_actor(self, ref: Any, count: int) -> float:
        """Have an actor do the same, and return the seconds it took."""

    @abstractmethod
    async def ring(self, size: int, tally: Tally) -> Callable[[int], Awaitable[None]]:
        """Make a ring; return what sends it a message with so many hops to go, the last of which hits `tally`."""

    @abstractmethod
    async def naps(self, count: int, seconds: float) -> Callable[[], Awaitable[None]]:
        """Start so many actors; return what has each run `time.sleep` by the rival's own helper, and waits for all."""

    @abstractmethod
    async def askers(self, count: int, seconds: float) -> Callable[[], Awaitable[None]]:
        """Start a server that naps once and so many callers; return what has them all ask it, and waits for all."""

    async def fragile(self, count: int, ups: asyncio.Queue[float]) -> Sequence[Any]:
        """Start so many supervised actors that put the time into `ups` when they begin."""
        raise NotImplementedError

    async def crash(self, ref: Any) -> None:
        """Send it a message that makes it raise."""
        raise NotImplementedError


def rates(batch: Callable[[int], Coroutine[Any, Any, float]], most: int = MOST_MESSAGES) -> Callable[[Job], Figures]:
    """Make a measure of a rate out of a batch that is a coroutine; a loop for each batch."""
    return lambda job: rate(job, lambda count: asyncio.run(batch(count)), most)


async def timed(work: Awaitable[object]) -> float:
    began = time.perf_counter()
    await work
    return time.perf_counter() - began


class Measures:
    """The experiments for one rival; `by_name` is what the worker looks in."""

    def __init__(self, rival: Callable[[], Rival]) -> None:
        self.rival = rival

    def by_name(self) -> dict[str, Callable[[Job], Figures]]:
        return {
            "cast": rates(self.cast),
            "call": rates(self.call),
            "call_actor": rates(self.call_actor),
            "ring": self.ring,
            "start_child": rates(self.start, MOST_ACTORS),
            "start_child_one": rates(self.start, MOST_ACTORS),
            "population": lambda job: asyncio.run(self.population(job)),
            "restart": lambda job: asyncio.run(self.restart(job)),
            "blocking": lambda job: asyncio.run(self.blocking(job)),
            "blocked_callers": lambda job: asyncio.run(self.blocked_callers(job)),
        }

    async def cast(self, count: int) -> float:
        async with self.rival() as rival:
            tally = Tally(count)
            ref = await rival.counter(tally)
            began = time.perf_counter()
            await rival.cast(ref, count)
            await tally.done.wait()
            return time.perf_counter() - began

    async def call(self, count: int) -> float:
        async with self.rival() as rival:
            (ref,) = await rival.workers(1)
            return await timed(rival.call(ref, count))

    async def call_actor(self, count: int) -> float:
        async with self.rival() as rival:
            (ref,) = await rival.workers(1)
            return await rival.call_from_actor(ref, count)

    async def start(self, count: int) -> float:
        async with self.rival() as rival:
            return await timed(rival.workers(count))

    def ring(self, job: Job) -> Figures:
        async def batch(count: int) -> float:
            async with self.rival() as rival:
                tally = Tally(1)
                send = await rival.ring(job.size("actors"), tally)
                await self.laps(send, job.size("actors"), tally)  # the first lap finds actors that did not begin yet
                return await timed(self.laps(send, count, tally))

        return rate(job, lambda count: asyncio.run(batch(count)))

    async def laps(self, send: Callable[[int], Awaitable[None]], hops: int, tally: Tally) -> None:
        tally.left = 1
        tally.done.clear()
        await send(hops)
        await tally.done.wait()

    async def population(self, job: Job) -> Figures:
        count = job.size("actors")
        async with self.rival() as rival:
            await rival.call((await rival.workers(1))[0], 1)
            before = memory()
            refs = await rival.workers(count)
            fresh = memory()
            for ref in refs:
                await rival.call(ref, 1)
            used = memory()
            idle = await asyncio.to_thread(idle_percent, job.sizes["idle"])
            values = {"memory": (fresh - before) / count, "memory_used": (used - before) / count}
            return Figures(values=values | {"idle_cpu_percent": idle})

    async def restart(self, job: Job) -> Figures:
        async with self.rival() as rival:
            ups: asyncio.Queue[float] = asyncio.Queue()
            refs = await rival.fragile(job.size("actors"), ups)
            for _ in refs:
                await ups.get()
            warm_up, counted = victims(refs, job)
            for ref in warm_up:
                await self.crash(rival, ref, ups)
            samples = [await self.crash(rival, ref, ups) for ref in counted]
            return Figures(values=spread("restart", samples, 1e6, "us"))

    async def crash(self, rival: Rival, ref: Any, ups: asyncio.Queue[float]) -> float:
        began = time.perf_counter()
        await rival.crash(ref)
        return await ups.get() - began

    async def blocking(self, job: Job) -> Figures:
        async with self.rival() as rival:
            go = await rival.naps(job.size("actors"), job.sizes["nap"])
            return Figures(values={"blocking": await timed(go()) * 1_000})

    async def blocked_callers(self, job: Job) -> Figures:
        async with self.rival() as rival:
            go = await rival.askers(job.size("actors"), job.sizes["nap"])
            took = await timed(go())
            return Figures(values={"blocked_callers": took, "blocked_callers_threads": threads()})
