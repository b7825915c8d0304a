"""A hub that has just come back, and the herd before it: so many clients on simulated time, each until it is served."""

from __future__ import annotations

import heapq
from collections import Counter
from typing import TYPE_CHECKING, Protocol

from benchmarks.model import Figures

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from benchmarks.model import Job

SEED = 20_261_130
"""Rounds draw from seeds after this one, so every side sees the same rounds in each run."""

rounds: Counter[str] = Counter()


class Client(Protocol):
    """One that calls until it is served."""

    def pause(self, chance: Random, asked: float | None) -> float:
        """Seconds until it calls again, after a refusal that has said this, or nothing."""


class Hub:
    """Serves so many calls in each tenth of a second, and refuses the others at once."""

    def __init__(self, rate: float) -> None:
        self.most = round(rate / 10)
        self.served: Counter[int] = Counter()

    def call(self, _: int, now: float) -> tuple[bool, float | None]:
        """Whether the call is served, and what a refusal says."""
        tenth = int(now * 10)
        if self.served[tenth] >= self.most:
            return False, None
        self.served[tenth] += 1
        return True, None


def play(
    hub: Callable[[int, float], tuple[bool, float | None]], clients: list[Client], chance: Random
) -> tuple[int, int]:
    """All call at time 0, and go on until each is served: the calls, and the most in a tenth after the first."""
    waiting = [(0.0, number) for number in range(len(clients))]
    calls, tenths = 0, Counter[int]()
    while waiting:
        now, number = heapq.heappop(waiting)
        calls += 1
        tenths[int(now * 10)] += 1
        is_served, asked = hub(number, now)
        if not is_served:
            heapq.heappush(waiting, (now + clients[number].pause(chance, asked), number))
    del tenths[0]
    return calls, max(tenths.values(), default=0)


def figures(job: Job, peer: str, calls: int, peak: int) -> Figures:
    """Both rows, of this side or of another peer."""
    mark = f"@{peer}" if peer else ""
    ratio = peak / (job.sizes["rate"] / 10)
    return Figures(values={f"reconnect_calls{mark}": float(calls), f"reconnect_peak{mark}": ratio})
