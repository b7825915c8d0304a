"""What a hub is told by agents that are odd, and by its own program: nothing of it is kept for ever, or lost."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from otpy.fleet import BeatError, FleetView, Heartbeat
from otpy.fleet.server import FleetServer, views_of
from support.leaving import Leaving

if TYPE_CHECKING:
    from otpy.testing import VirtualSystem


@pytest.mark.usefixtures("system")
def test_one_that_comes_and_goes_leaves_no_more_than_it_is(view: FleetView) -> None:
    """Each goodbye leaves an entry for three hours where the period is one."""
    for _ in range(5_000):
        view.beat("a", period=3_600.0)
        view.beat("a", state="gone")

    assert sum(map(len, view._ledger._wheel._buckets.values())) <= 1_000


def test_the_wheel_forgets_nobody_who_stays(system: VirtualSystem, view: FleetView) -> None:
    names = [f"a{number}" for number in range(1_200)]
    for name in names:
        view.beat(name)
        view.beat(name, period=5.0)  # sooner than it was to be looked at: it stands in two buckets
    view.forget(*names[:100])

    system.clock.advance(17.0)

    assert len(view.agents("silent", limit=2_000)) == 1_100


def test_one_that_is_started_again_without_an_incarnation_counts_anew_once_it_was_missed(
    system: VirtualSystem, view: FleetView
) -> None:
    view.beat("a", sequence=100)
    assert view.beat("a", sequence=1) == "late"  # as one is that was long on its way

    system.clock.advance(40.0)

    assert view.beat("a", sequence=2) == "taken"
    assert view.beat("a", sequence=1) == "late"
    assert view.agents("alive")


@pytest.mark.parametrize(
    "wrong",
    [
        {"names": ["b", None]},
        {"names": ["b", ["c"]]},
        {"names": ["a", "b"], "labels": {"region": 1}},
    ],
)
@pytest.mark.usefixtures("system")
def test_an_expectation_that_cannot_be_changes_nothing(view: FleetView, wrong: dict[str, Any]) -> None:
    view.beat("a")

    with pytest.raises(BeatError):
        view.expect(**wrong)

    assert [agent.name for agent in view.agents()] == ["a"]
    assert view._names == {}


@pytest.mark.parametrize("why", [5, ValueError("oops"), b"text"])
def test_a_reason_that_is_no_text_is_refused_where_it_is_given(why: Any) -> None:
    """The hub would refuse each beat with it, and take the agent for dead."""
    beats = Heartbeat("beats", send=print)

    with pytest.raises(ValueError, match="a text, or None"):
        beats.say("degraded", why)

    assert beats.look().state == "normal"


def test_a_hub_that_ends_while_somebody_looks_for_it_fails_no_look(view: FleetView) -> None:
    keeper = FleetServer.__new__(FleetServer)
    keeper.view = view
    system: Any = SimpleNamespace(names={"fleet/fleet": Leaving(keeper)})

    assert [found for _, found in views_of(system)] == [view]
