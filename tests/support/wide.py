"""An actor with up to four handlers in flight, which a process child can load."""

from __future__ import annotations

import asyncio

import otpy

__all__ = ["Wide"]


class Wide(otpy.GenServer):
    """Notes how many of its handlers there were at once."""

    max_concurrency = 4

    async def init(self) -> None:
        self.now = self.most = 0
        self.full = asyncio.Event()

    @otpy.call
    async def work(self, number: int) -> int:
        """Wait until there are as many as may be."""
        self.now += 1
        self.most = max(self.most, self.now)
        if self.now == self.max_concurrency:
            self.full.set()
        await self.full.wait()
        await asyncio.sleep(0)
        self.now -= 1
        return number

    @otpy.call
    async def peak(self) -> int:
        """How many there were."""
        return self.most

    @otpy.call
    async def hang(self) -> None:
        """Wait for ever."""
        await asyncio.Event().wait()

    @otpy.call
    async def fail(self) -> None:
        """Crash after a moment."""
        await asyncio.sleep(0)
        raise ValueError("boom")
