"""tapio-py: typed asyncio actors whose messages are pydantic models, children of a parent behavior."""

from __future__ import annotations

import asyncio
import itertools
import time
from datetime import timedelta
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from tapio import (  # type: ignore[import-not-found, unused-ignore]  # a rival may be absent
    ActorRef,
    ActorSystem,
    Behaviors,
    Message,
    SupervisorStrategy,
)

from benchmarks.rivals.on_asyncio import Measures, Rival, Tally

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

VERSION = version("tapio-py")
NO_LIMIT = timedelta(days=1)


class Number(Message):  # type: ignore[misc, unused-ignore]  # Any where the rival is absent
    n: float = 0


class Ask(Message):  # type: ignore[misc, unused-ignore]  # Any where the rival is absent
    n: int
    reply_to: ActorRef[Number]


class Neighbour(Message):  # type: ignore[misc, unused-ignore]  # Any where the rival is absent
    next: ActorRef[Any]


Behavior = Any  # the rival's behaviors are generic in their messages, which tells a reader nothing here


def on(msg_type: Any, handle: Callable[[Any], Awaitable[None]]) -> Behavior:
    """A behavior that does `handle` at each message of a type (or union of types) and stays as it is."""

    async def receive(message: Any) -> Behavior:  # Any: of `msg_type`
        await handle(message)
        return Behaviors.same()

    return Behaviors.receive_message(receive, msg_type=msg_type)


def worker() -> Behavior:
    async def handle(message: Ask) -> None:
        message.reply_to.tell(Number(n=message.n))

    return on(Ask, handle)


def counter(tally: Tally) -> Behavior:
    async def handle(message: Number) -> None:
        tally.hit()

    return on(Number, handle)


def caller(target: Any, took: asyncio.Future[float]) -> Behavior:
    async def handle(message: Number) -> None:
        began = time.perf_counter()
        await asks(target, int(message.n))
        took.set_result(time.perf_counter() - began)

    return on(Number, handle)


def link(tally: Tally) -> Behavior:
    neighbour: Any = None

    async def handle(message: Number | Neighbour) -> None:
        nonlocal neighbour
        if isinstance(message, Neighbour):
            neighbour = message.next
        elif message.n:
            neighbour.tell(Number(n=message.n - 1))
        else:
            tally.hit()

    return on(Number | Neighbour, handle)


def sleeper(tally: Tally) -> Behavior:
    async def receive(context: Any, message: Number) -> Behavior:
        await context.run_blocking(time.sleep, message.n)
        tally.hit()
        return Behaviors.same()

    return Behaviors.receive(receive, msg_type=Number)


def slow(nap: float) -> Behavior:
    async def handle(message: Ask) -> None:
        nonlocal nap
        nap, pause = 0.0, nap
        if pause:
            await asyncio.sleep(pause)
        message.reply_to.tell(Number(n=message.n))

    return on(Ask, handle)


def asker(server: Any, tally: Tally) -> Behavior:
    async def handle(message: Number) -> None:
        await server.ask(lambda reply_to: Ask(n=0, reply_to=reply_to), expect=Number, timeout=NO_LIMIT)
        tally.hit()

    return on(Number, handle)


def fragile(ups: asyncio.Queue[float]) -> Behavior:
    """Supervised by itself, as this rival has it: the strategy belongs to the behavior."""

    async def handle(message: Number) -> None:
        raise RuntimeError("boom")

    def begin(context: Any) -> Behavior:
        ups.put_nowait(time.perf_counter())
        return on(Number, handle)

    return Behaviors.supervise(Behaviors.setup(begin)).on_failure(SupervisorStrategy.restart())


async def asks(ref: Any, count: int) -> None:
    for number in range(count):
        await ref.ask(lambda reply_to, number=number: Ask(n=number, reply_to=reply_to), expect=Number)


class Tapio(Rival):
    """`Any` below: its references are generic in their messages. A `setup` behavior runs before `spawn` returns."""

    async def open(self) -> None:
        self.system = ActorSystem("bench")
        self.numbers = itertools.count()

    async def close(self) -> None:
        await self.system.terminate()

    def spawn(self, behavior: Behavior) -> Any:
        return self.system.spawn(behavior, f"actor-{next(self.numbers)}")

    async def workers(self, count: int) -> Sequence[Any]:
        return [self.spawn(Behaviors.setup(lambda _: worker())) for _ in range(count)]

    async def counter(self, tally: Tally) -> Any:
        return self.spawn(counter(tally))

    async def cast(self, ref: Any, count: int) -> None:
        for number in range(count):
            ref.tell(Number(n=number))

    async def call(self, ref: Any, count: int) -> None:
        await asks(ref, count)

    async def call_from_actor(self, ref: Any, count: int) -> float:
        took: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self.spawn(caller(ref, took)).tell(Number(n=count))
        return await took

    async def ring(self, size: int, tally: Tally) -> Callable[[int], Awaitable[None]]:
        links = [self.spawn(link(tally)) for _ in range(size)]
        for one, neighbour in zip(links, links[1:] + links[:1], strict=True):
            one.tell(Neighbour(next=neighbour))

        async def send(hops: int) -> None:
            links[0].tell(Number(n=hops))

        return send

    async def naps(self, count: int, seconds: float) -> Callable[[], Awaitable[None]]:
        tally = Tally(count)
        return self.all_at_once([self.spawn(sleeper(tally)) for _ in range(count)], seconds, tally)

    async def askers(self, count: int, seconds: float) -> Callable[[], Awaitable[None]]:
        tally, server = Tally(count), self.spawn(slow(seconds))
        return self.all_at_once([self.spawn(asker(server, tally)) for _ in range(count)], 0, tally)

    def all_at_once(self, refs: Sequence[Any], number: float, tally: Tally) -> Callable[[], Awaitable[None]]:
        async def go() -> None:
            for ref in refs:
                ref.tell(Number(n=number))
            await tally.done.wait()

        return go

    async def fragile(self, count: int, ups: asyncio.Queue[float]) -> Sequence[Any]:
        return [self.spawn(fragile(ups)) for _ in range(count)]

    async def crash(self, ref: Any) -> None:
        ref.tell(Number())


MEASURES = Measures(Tapio).by_name()
