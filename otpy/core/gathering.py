"""Group commit: whether to look once more for those who are expected together, before what has come is written."""

from __future__ import annotations

__all__ = ["GATHER", "Gathering"]

GATHER, LOOKS, LATELY = 0.000_2, 6, 0.02
"""Seconds between two looks whether more have come, how many such looks at most, and how long after a commit."""


class Gathering:
    """Who was served together is expected back together, for a millisecond or so.

    Sixteen who got their replies as one will ask again, one a little after the other. Without this the first of them
    has a commit of its own, and the others wait for that.
    """

    def __init__(self) -> None:
        """Expect nobody."""
        self._shared, self._served = 1, 0.0
        self._looks: list[int] = []

    def waits(self, number: int, now: float) -> bool:
        """Whether to look again in `GATHER` seconds, when so many have come; `now` is the machine's monotonic time."""
        if number >= self._shared or now - self._served > LATELY or number in self._looks[1:]:
            return False
        self._looks.append(number)
        return len(self._looks) < LOOKS

    def begin(self) -> None:
        """What has come is taken: the next who come are looked for anew."""
        self._looks = []

    def served(self, number: int, now: float) -> None:
        """So many were served together."""
        self._shared, self._served = number, now
