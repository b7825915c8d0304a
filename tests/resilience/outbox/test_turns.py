"""A receiver that tells each agent when it may come."""

from __future__ import annotations

import pytest

from otpy.errors import SpecError
from otpy.resilience import Turns
from otpy.testing import VirtualClock

pytestmark = pytest.mark.any_python


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


def test_who_comes_alone_comes_in(clock: VirtualClock) -> None:
    turns = Turns(50.0, clock=clock.now)
    for agent in range(10):
        assert turns.ask(agent) is None
        clock.advance(0.02)


def test_of_many_that_come_at_once_each_gets_a_turn_of_its_own(clock: VirtualClock) -> None:
    turns = Turns(50.0, clock=clock.now)
    asked = [turns.ask(agent) for agent in range(500)]
    assert asked[0] is None
    assert asked[1:] == pytest.approx([number / 50 for number in range(1, 500)])


def test_who_comes_in_its_turn_comes_in_and_who_comes_early_is_told_the_same(clock: VirtualClock) -> None:
    turns = Turns(1.0, clock=clock.now)
    turns.ask("a")
    assert turns.ask("b") == 1.0
    assert turns.ask("c") == 2.0
    clock.advance(1.0)
    assert turns.ask("c") == 1.0
    assert turns.ask("d") == 2.0, "those who come now do not come in before those who wait"
    assert turns.ask("b") is None
    clock.advance(0.97)
    assert turns.ask("c") is None


def test_those_who_all_come_late_come_in_at_the_receiver_s_pace(clock: VirtualClock) -> None:
    """As after a stop of the receiver itself, with a hundred that knock in the same moment."""
    turns = Turns(50.0, clock=clock.now)
    for agent in range(100):
        turns.ask(agent)
    clock.advance(60.0)
    waits = {agent: turns.ask(agent) for agent in range(100)}
    came_in = sum(wait is None for wait in waits.values())
    assert came_in <= 50.0 * 0.1 * 1.5 + 1
    late = sorted(wait for wait in waits.values() if wait is not None)
    assert late == pytest.approx([late[0] + number / 50 for number in range(100 - came_in)])
    for agent, wait in waits.items():
        if wait is not None:
            clock.advance(max(0.0, 60.0 + wait - clock.now()))
            assert turns.ask(agent) is None, "and none of them a third time"


def test_those_who_never_come_are_forgotten(clock: VirtualClock) -> None:
    turns = Turns(10.0, most=5, clock=clock.now)
    for agent in range(50):
        turns.ask(agent)
    assert len(turns._turns) == 5
    clock.advance(20.0)
    for agent in range(100, 104):
        turns.ask(agent)
    assert max(turns._turns) >= 100


@pytest.mark.parametrize("options", [{"rate": 0}, {"rate": float("inf")}, {"rate": 1, "most": 0}])
def test_options_that_cannot_be_are_told(options: dict[str, float]) -> None:
    with pytest.raises(SpecError):
        Turns(**options)  # type: ignore[arg-type]  # on purpose
