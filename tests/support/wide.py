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

    @otpy.call
    async def work(self, number: int) -> int:
        """Wait a moment."""
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.01)
        self.now -= 1
        return number

    @otpy.call
    async def peak(self) -> int:
        """How many there were."""
        return self.most

    @otpy.call
    async def fail(self) -> None:
        """Crash after a moment."""
        await asyncio.sleep(0)
        raise ValueError("boom")
