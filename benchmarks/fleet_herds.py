"""The herds beside otpy's: decorrelated jitter, full jitter, none, and otpy's agents before a hub without turns."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from benchmarks.fleet_side import Agent
from benchmarks.herd import SEED, Hub, figures, play, rounds
from benchmarks.model import Figures
from otpy.core.backoff import Backoff, delay

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.herd import Client
    from benchmarks.model import Job

VERSION = "base 0.5 s, cap 20 s"

BASE, CAP = 0.5, 20.0


@dataclass(slots=True)
class Decorrelated:
    """`min(cap, U(base, 3 × the pause before))`."""

    last: float = BASE

    def pause(self, chance: Random, _: float | None) -> float:
        self.last = min(CAP, chance.uniform(BASE, 3 * self.last))
        return self.last


@dataclass(slots=True)
class Exponential:
    """Twice as long each time, with this part of it drawn by chance."""

    jitter: float
    failed: int = 0

    def pause(self, chance: Random, _: float | None) -> float:
        self.failed += 1
        return delay(Backoff(first=BASE, most=CAP, jitter=self.jitter), self.failed - 1, chance.random())


HERDS: dict[str, Callable[[], Client]] = {
    "": Decorrelated,
    "full_jitter": lambda: Exponential(1.0),
    "no_jitter": lambda: Exponential(0.0),
    "agents_alone": Agent,
}
"""By the peer's name; the first is this side itself."""


def reconnect(job: Job) -> Figures:
    found: dict[str, float] = {}
    rounds["herds"] += 1
    for peer, make in HERDS.items():
        clients = [make() for _ in range(job.size("clients"))]
        calls, peak = play(Hub(job.sizes["rate"]).call, clients, Random(SEED + rounds["herds"]))
        found |= figures(job, peer, calls, peak).values
    return Figures(values=found)


MEASURES: dict[str, Callable[[Job], Figures]] = {"reconnect": reconnect}
