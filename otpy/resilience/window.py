"""Counts over the last so many seconds: what happened in a window that moves with time."""

from __future__ import annotations

import math
from collections import deque

__all__ = ["PARTS", "Window"]

PARTS = 10
"""Pieces a window is kept in: a count leaves with its piece, so a window of 60 s holds between 54 and 60 of them."""


class Window:
    """Numbers that age out; it takes the same room however much is counted. No thread, and no clock of its own."""

    __slots__ = ("_next_turn", "_pieces", "_seconds", "totals")

    def __init__(self, seconds: float, kinds: int) -> None:
        """Count so many kinds of things over so many seconds."""
        self._seconds = seconds
        self._pieces: deque[tuple[float, list[int]]] = deque()  # each with the time it begins at, the oldest first
        self._next_turn = -math.inf  # when the last piece is full, or the first one leaves
        self.totals = [0] * kinds
        """What is in the window, by kind; right after `add` and `age`."""

    def add(self, now: float, kind: int) -> None:
        """Count one thing that happened now. A stamp from before the last one's counts as that one's."""
        if now >= self._next_turn:
            self.age(now)
            self._turn(now)
        self._pieces[-1][1][kind] += 1
        self.totals[kind] += 1

    def age(self, now: float) -> None:
        """Let go what has left the window."""
        pieces = self._pieces
        while pieces and pieces[0][0] <= now - self._seconds:
            for kind, count in enumerate(pieces.popleft()[1]):
                self.totals[kind] -= count
            self._next_turn = -math.inf

    def clear(self) -> None:
        """Forget all."""
        self._pieces.clear()
        self._next_turn = -math.inf
        self.totals = [0] * len(self.totals)

    def _turn(self, now: float) -> None:
        pieces, width = self._pieces, self._seconds / PARTS
        if not pieces or now >= pieces[-1][0] + width:
            pieces.append((now, [0] * len(self.totals)))
        self._next_turn = min(pieces[-1][0] + width, pieces[0][0] + self._seconds)
