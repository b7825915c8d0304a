"""`Histogram`: how long things took, as numbers of those that took at most so long; what metrics are made of."""

from __future__ import annotations

from bisect import bisect_left

__all__ = ["Histogram"]


class Histogram:
    """Any thread observes, and any thread reads.

    No lock is taken: under the GIL a thread is not interrupted within either of the two changes of `observe`, for no
    call and no jump is in them. Without a GIL some of what is observed at once may not be counted, and nothing worse.
    Who reads while others observe may find the sum without the last of them.
    """

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        """Of nothing yet; `bounds` in seconds, rising. What took longer than the last is counted beyond them all."""
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, seconds: float) -> None:
        """One took so long."""
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.total += seconds

    def cumulated(self) -> list[tuple[float, int]]:
        """For each bound, and for infinity, how many took at most so long."""
        found, number = [], 0
        for bound, count in zip((*self.bounds, float("inf")), list(self.counts), strict=True):
            number += count
            found.append((bound, number))
        return found
