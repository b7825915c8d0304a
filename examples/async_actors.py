"""Actors on an event loop: handlers are `async def`, wait for many things at once, and are cancelled for real.

    python examples/async_actors.py

prints:

    3 pages, fetched at once: 3
    stopped in the middle: True
"""

from __future__ import annotations

import asyncio

import otpy


class Count:
    """How many pages are under way, and were at most."""

    now = most = 0


class Fetcher(otpy.GenServer):
    @otpy.call
    async def fetch(self, page: int) -> str:
        Count.now += 1  # all of them run on one thread
        Count.most = max(Count.most, Count.now)
        await asyncio.sleep(0.1)  # a network would take its time
        Count.now -= 1
        return f"page {page}"


class Reader(otpy.GenServer):
    """Asks several fetchers at once; its own next message waits until it is done."""

    async def init(self, fetchers: int) -> None:
        self.fetchers = [await self.aspawn_link(Fetcher) for _ in range(fetchers)]
        self.endings: list[str] = []

    @otpy.call
    async def read(self) -> list[str]:
        async with asyncio.timeout(5.0), asyncio.TaskGroup() as group:
            tasks = [group.create_task(one.acall(Fetcher.fetch, n)) for n, one in enumerate(self.fetchers)]
        return [task.result() for task in tasks]


async def poll(cancelled: list[bool]) -> None:
    """A coroutine function is a child, too."""
    try:
        await otpy.asleep(3_600.0)
    except asyncio.CancelledError:
        cancelled.append(True)
        raise


class Tree(otpy.Supervisor):
    def init(self, cancelled: list[bool]) -> None:
        self.cancelled = cancelled

    def children(self) -> list[otpy.ChildSpec]:
        return [
            otpy.child(Reader, 3).opts(name=READER),
            otpy.child(poll, self.cancelled).opts(id="poll"),
        ]


READER = otpy.name(Reader, "reader")


def main() -> None:
    cancelled: list[bool] = []
    with otpy.run(Tree, cancelled, name="async") as system:
        pages = system.ref(READER).call(Reader.read)
        print(f"{len(pages)} pages, fetched at once: {Count.most}")
    print(f"stopped in the middle: {cancelled == [True]}")


if __name__ == "__main__":
    main()
