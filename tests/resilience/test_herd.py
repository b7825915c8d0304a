"""Many that failed together do not come back together: seeded simulations."""

from __future__ import annotations

import heapq
import random
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.core.backoff import delay, delay_as_asked
from otpy.resilience import retry
from otpy.resilience.retrying import PAUSES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otpy.testing import VirtualSystem

CLIENTS = 500


def largest_share(times: Iterable[float]) -> float:
    """The part of all that falls into the fullest tenth of a second."""
    buckets = Counter(int(time * 10) for time in times)
    return max(buckets.values()) / buckets.total()


class Client(otpy.GenServer):
    """Calls a service that fails once for everybody."""

    def init(self, times: list[float], backoff: otpy.Backoff) -> None:
        self._times = times
        self._backoff = backoff

    @otpy.cast
    async def ask(self) -> None:
        calls = count()

        @retry(on=OSError, backoff=self._backoff)
        async def call() -> None:
            if next(calls) == 0:
                raise OSError("down")
            self._times.append(self.system.clock.now())

        await call()


@pytest.mark.report("J52", "payloadcms/payload#16318", "rails/rails PR #31872")
def test_five_hundred_that_failed_at_once_come_back_spread_out(virtual_system: VirtualSystem) -> None:
    """There all of them came back in the same moment, again and again."""
    times: list[float] = []
    backoff = otpy.Backoff(first=10.0, most=600.0)
    for number in range(CLIENTS):
        client = virtual_system.start(otpy.child(Client, times, backoff).opts(id=f"client-{number}"))
        client.cast(Client.ask)

    virtual_system.clock.advance(11.0)

    assert len(times) == CLIENTS
    assert largest_share(times) <= 0.05


@pytest.mark.report("J52", "payloadcms/payload#16318", "rails/rails PR #31872")
def test_at_the_longest_pause_they_are_still_spread_out() -> None:
    """Tenacity's `wait_exponential_jitter` cuts off after the jitter: from the sixth on all wait the same."""
    chance = random.Random(1)

    times = [delay(PAUSES, 12, chance.random()) for _ in range(CLIENTS)]

    assert largest_share(times) <= 0.05
    assert max(times) <= PAUSES.most


def test_those_who_were_all_told_when_to_come_again_come_spread_out_and_never_sooner() -> None:
    chance = random.Random(1)
    backoff = otpy.Backoff(first=16.0, most=600.0)

    times = [delay_as_asked(backoff, 2, 90.0, chance.random()) for _ in range(CLIENTS)]

    assert min(times) >= 90.0
    assert largest_share(times) <= 0.05


def herd(backoff: otpy.Backoff, served: int, seed: int = 1) -> tuple[int, float]:
    """All call at once a service that serves so many in a tenth of a second; the calls made, and the seconds taken."""
    chance = random.Random(seed)
    calls: list[tuple[float, int, int]] = [(0.0, number, 0) for number in range(CLIENTS)]
    done_in: Counter[int] = Counter()
    made, last = 0, 0.0
    while calls:
        last, number, failed = heapq.heappop(calls)
        made += 1
        tenth = int(last * 10)
        if done_in[tenth] < served:
            done_in[tenth] += 1
        else:
            heapq.heappush(calls, (last + delay(backoff, failed, chance.random()), number, failed + 1))
    return made, last


def test_full_jitter_serves_a_herd_soon_and_no_jitter_hardly_ever() -> None:
    """500 clients, 50 served in a second: the ideal is 10 s."""
    full_calls, full_seconds = herd(PAUSES, served=5)
    none_calls, none_seconds = herd(otpy.Backoff(first=0.5, most=20.0, jitter=0.0), served=5)

    assert full_calls < 3_000
    assert full_seconds < 30.0
    assert none_calls > 2 * full_calls
    assert none_seconds > 5 * full_seconds
