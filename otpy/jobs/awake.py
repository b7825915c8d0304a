"""Whether a program was asleep: stopped, on a suspended machine, or without its store, or its clock was set."""

from __future__ import annotations

__all__ = ["Awake"]

DRIFT = 2.0
"""Seconds by which the two clocks may disagree between two looks before the wall clock was set, or nobody was awake."""


class Awake:
    """Compares two clocks from look to look.

    What others have left undone meanwhile says nothing about them: they may have been asleep as well.
    """

    def __init__(self, most: float) -> None:
        """So many seconds may lie between two looks."""
        self.most = most
        self._last: tuple[float, int] | None = None

    def look(self, now: float, wall_ms: int) -> bool:
        """Whether all is as it should be since the last look; the first one always is.

        Args:
            now: seconds of the monotonic clock, which may stand still on a suspended machine.
            wall_ms: milliseconds of the wall clock, which may jump.
        """
        last, self._last = self._last, (now, wall_ms)
        if last is None:
            return True
        by_clock, by_wall = now - last[0], (wall_ms - last[1]) / 1_000
        return max(by_clock, by_wall) <= self.most and abs(by_wall - by_clock) <= DRIFT
