"""What happens to three programs and their server, drawn from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal, get_args

__all__ = ["HOSTS", "Trouble", "What", "draw"]

HOSTS = 3

What = Literal["kill host", "stop host", "kill server", "cut", "old transaction", "slow commits"]


@dataclass(frozen=True, slots=True)
class Trouble:
    """One, from when it begins; all of them end."""

    at: float
    """Seconds from the beginning."""
    what: What
    host: int
    """Whom it is about; one more than there are hosts means all of them, where that can be."""
    seconds: float
    """How long it lasts: until a host or the server is started again, goes on, or a transaction ends."""
    leads: bool
    """Whether it is about who leads then, whoever that is."""


LASTS: dict[What, tuple[float, float]] = {
    "kill host": (0.1, 0.8),
    "stop host": (2.0, 4.0),
    "kill server": (0.0, 1.5),
    "cut": (0.0, 0.0),
    "old transaction": (1.0, 4.0),
    "slow commits": (0.5, 2.0),
}
"""Seconds; a host is stopped beyond its lease."""


def draw(seed: int, seconds: float) -> list[Trouble]:
    """All of a run, in order: each kind comes before one of them comes again."""
    chance = random.Random(seed)
    found: list[Trouble] = []
    at = chance.uniform(0.8, 1.2)
    while at < seconds:
        if not len(found) % len(LASTS):
            deck = list(get_args(What))
            chance.shuffle(deck)
        what = deck.pop()
        found.append(
            Trouble(
                at=at,
                what=what,
                host=chance.randint(1, HOSTS + (what == "cut")),
                seconds=chance.uniform(*LASTS[what]),
                leads=chance.random() < 0.5,
            )
        )
        at += chance.uniform(0.3, 1.5)
    return found
