"""An actor that uses up what it is told, in a process of its own."""

from __future__ import annotations

import mmap
import os

import otpy

__all__ = ["Confined"]


class Confined(otpy.GenServer):
    """Uses memory and time."""

    def init(self) -> None:
        self.kept: list[bytearray] = []
        self.mapped: mmap.mmap | None = None

    @otpy.call
    def allocate(self, size: int) -> str:
        """Take so many bytes, and give them back."""
        try:
            bytearray(size)
        except MemoryError:
            return "MemoryError"
        return "allocated"

    @otpy.call
    def grow(self) -> None:
        """Take more and more."""
        while True:
            self.kept.append(bytearray(10_000_000))

    @otpy.cast
    def map(self, size: int) -> None:
        """Hold so many bytes of shared memory."""
        self.mapped = mmap.mmap(-1, size)
        for place in range(0, size, mmap.PAGESIZE):
            self.mapped[place] = 1

    @otpy.cast
    def compute(self) -> None:
        while True:
            pass

    @otpy.call
    def niceness(self) -> set[int]:
        """Of each of its threads."""
        return {os.getpriority(os.PRIO_PROCESS, int(thread)) for thread in os.listdir("/proc/self/task")}  # noqa: PTH208
