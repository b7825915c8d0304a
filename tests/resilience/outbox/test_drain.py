"""An outbox whose program drains: what can be sent goes out, and what cannot holds up nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.drain.begin import begin
from otpy.drain.plan import Phase
from otpy.resilience import Breaker, LaterError, Sender
from otpy.testing import VirtualSystem
from support.outboxes import Hub, kept, outbox, values

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from otpy.drain.course import Course
    from otpy.resilience import Batch

pytestmark = pytest.mark.any_python

BUDGET = 25.0


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    return Hub(tmp_path / "hub.db")


@pytest.fixture
def system() -> Iterator[VirtualSystem]:
    system = VirtualSystem("agent", seed=1)
    yield system
    system.stop()


def drained(system: VirtualSystem) -> Course:
    """Drain it, to the end or as long as it has."""
    course = begin(system, "by hand", BUDGET)
    system.clock.advance(BUDGET)
    return course


def test_what_waits_for_a_pause_or_a_ramp_is_sent_before_the_program_ends(
    tmp_path: Path, hub: Hub, system: VirtualSystem
) -> None:
    hub.mood = "down"
    one = kept(system, outbox(tmp_path / "o.db", hub.post, ramp=600.0, backoff=otpy.Backoff(first=60.0, most=600.0)))
    for value in range(25):
        one.put("t", value)
    system.clock.advance(1.0)
    hub.mood = "well"

    course = drained(system)

    assert [value for _, value in hub.rows()] == list(range(25))
    assert course.undone == []
    assert course.took[Phase.FLUSH] == 0.0


@pytest.mark.parametrize("failures", [1, 1_000])
def test_a_receiver_that_is_away_is_not_waited_for(
    tmp_path: Path, hub: Hub, system: VirtualSystem, failures: int
) -> None:
    hub.mood = "down"
    breaker = Breaker("post", failures=failures, rate=None, cooldown=60.0)
    system.start(breaker.child())
    one = kept(system, outbox(tmp_path / "o.db", Sender(hub.post, breaker=breaker)))
    one.put("t", 1)

    course = drained(system)

    assert course.undone == [], "it is on the disk, so nothing was left undone"
    assert course.took[Phase.FLUSH] < 10.0
    system.stop()
    assert values(one) == [1]


@pytest.mark.parametrize(("turn", "seconds", "rows"), [(3.0, 3.0, 0), (10_000.0, 0.0, 1)])
def test_a_turn_is_waited_for_when_it_comes_in_time(
    tmp_path: Path, hub: Hub, system: VirtualSystem, turn: float, seconds: float, rows: int
) -> None:
    def post(batch: Batch) -> object:
        if system.clock.now() < turn:
            raise LaterError(turn - system.clock.now())
        return hub.post(batch)

    one = kept(system, outbox(tmp_path / "o.db", post))
    one.put("t", 1)

    course = drained(system)

    assert course.took[Phase.FLUSH] == pytest.approx(seconds, abs=0.1)
    assert (one.look().rows, course.undone) == (rows, [])


def test_a_call_that_hangs_holds_up_no_drain(tmp_path: Path, system: VirtualSystem) -> None:
    async def post(batch: object) -> None:
        await otpy.asleep(20.0)

    one = kept(system, outbox(tmp_path / "o.db", Sender(post, timeout=100.0)))
    one.put("t", 1)
    system.clock.advance(0.0)

    course = drained(system)

    assert course.took[Phase.DRAIN] == 0.0
    assert course.took[Phase.FLUSH] == pytest.approx(5.0, abs=0.1)
    assert course.undone == []
