"""Threads that are kept: by killed actors whose code still runs, and by actors that block."""

from __future__ import annotations

import logging

from otpy.core.value import value
from otpy.events.event import Event

__all__ = ["LoopBlocked", "ThreadLimitNear", "ZombieEnded", "ZombieLimitReached", "ZombieMade"]


@value(kw_only=True)
class ZombieMade(Event):
    """A killed actor still runs: a thread cannot be killed. It is dead to all others; what it does is fenced."""

    thread: str | None
    """The thread it keeps."""
    frame: str | None
    """Where its code is now."""

    def __str__(self) -> str:
        return f"{self.path} was killed but still runs on {self.thread} at {self.frame}"


@value(kw_only=True)
class ZombieEnded(Event):
    """The code of a killed actor came to its end."""

    @property
    def level(self) -> int:
        """Good news."""
        return logging.INFO

    def __str__(self) -> str:
        return f"{self.path}: the killed actor's code has ended"


@value(kw_only=True)
class ZombieLimitReached(Event):
    """More killed actors still run than `max_zombies` allows: the program ends for its own keeper to start it again."""

    count: int
    """How many there are."""

    @property
    def level(self) -> int:
        """The program ends."""
        return logging.CRITICAL

    def __str__(self) -> str:
        return f"{self.path} ends: {self.count} killed actors still run (max_zombies)"


@value(kw_only=True)
class ThreadLimitNear(Event):
    """Blocked actors keep 80 % or all of `max_threads` busy, or the platform gives no further thread.

    Said once for each of the two, and again after fewer than 40 % were in use.
    """

    count: int
    """Threads in use."""
    limit: int
    """`max_threads`, or `count` when the platform gave no more."""

    def __str__(self) -> str:
        return f"{self.path} uses {self.count} of {self.limit} threads: many actors block in their handlers"


@value(kw_only=True)
class LoopBlocked(Event):
    """A handler on the event loop has not given it back for a tenth of a second: all others there wait for it."""

    seconds: float
    """How long so far."""
    frame: str | None
    """Where its code is now."""

    def __str__(self) -> str:
        return f"{self.path} blocks the event loop for {self.seconds:.1f} s at {self.frame}"
