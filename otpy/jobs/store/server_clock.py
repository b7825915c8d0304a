"""The time of a server, for who has to reckon with it between two transactions."""

from __future__ import annotations

from otpy.core.clock import wall_clock

__all__ = ["ServerClock"]


class ServerClock:
    """This machine's clock, set by that of the server in each transaction: they differ, by seconds or by hours.

    For any thread. It is behind by no more than an answer of the server takes.
    """

    def __init__(self) -> None:
        """The server was not asked yet: they are taken to agree."""
        self._ahead = 0

    def __call__(self) -> int:
        """The server's time, in milliseconds."""
        return wall_clock() + self._ahead

    def set(self, now: int) -> None:
        """The server has just said that it is so late."""
        self._ahead = now - wall_clock()
