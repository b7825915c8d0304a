"""What a hub tells: of groups, of storms, of itself; never of each agent."""

from __future__ import annotations

import pytest

from otpy.events import Event, FleetAway, FleetCalm, FleetFull, FleetShareFell, FleetShareRecovered, FleetStorm
from otpy.fleet import FleetView, Watch
from otpy.testing import Recorder, VirtualSystem


def beat(view: FleetView, numbers: range, region: str = "eu") -> None:
    for number in numbers:
        view.beat(f"{region}{number}", labels={"region": region})


def told(events: Recorder) -> list[str]:
    return [str(event) for event in events.of(Event) if type(event).__name__.startswith("Fleet")]


def test_a_groups_share_is_told_once_when_it_falls_and_once_when_it_is_well_again() -> None:
    view = FleetView("fleet", period=10.0, watches=[Watch(label="region", below=0.75, above=0.9)])
    system = VirtualSystem("hub", seed=1)
    system.start(view.child())
    with Recorder(system) as events:
        for _ in range(4):
            beat(view, range(10))
            beat(view, range(10), "us")
            system.clock.advance(10.0)
        assert told(events) == []
        for living in (8, 8, 8, 7, 7, 7, 8, 8, 7, 7, 7, 9, 9):  # between the two nothing is told
            beat(view, range(living))
            beat(view, range(10), "us")
            system.clock.advance(15.0)
    assert told(events) == [
        "hub/fleet: fleet 'fleet': region=eu: 7 of 10 are alive (70%, below 75%)",
        "hub/fleet: fleet 'fleet': region=eu: 9 of 10 are alive again (90%) after 106 s",
    ]
    [fell], [well] = events.of(FleetShareFell), events.of(FleetShareRecovered)
    assert (fell.label, fell.value, fell.alive, fell.wanted, fell.below) == ("region", "eu", 7, 10, 0.75)
    assert (well.share, well.seconds, fell.level, well.level) == (0.9, 106.0, 40, 20)
    assert [group.is_short for group in view.groups("region")] == [False, False]
    system.stop()


def test_a_group_is_well_again_when_those_it_misses_are_forgotten_or_expected_no_longer() -> None:
    view = FleetView("fleet", period=10.0, watches=[Watch(label="region")])
    view.expect(["lost1", "lost2"], labels={"region": "eu"})
    view.expect(count=9, labels={"region": "us"})
    system = VirtualSystem("hub", seed=1)
    system.start(view.child())
    with Recorder(system) as events:
        for _ in range(4):
            beat(view, range(4))
            beat(view, range(4), "us")
            system.clock.advance(10.0)
        assert [event.value for event in events.of(FleetShareFell)] == ["eu", "us"]
        view.forget("lost1", "lost2")
        view.expect(count=0, labels={"region": "us"})
        system.clock.advance(1.0)
    assert [event.value for event in events.of(FleetShareRecovered)] == ["eu", "us"]
    system.stop()


def test_a_hub_that_is_started_judges_nobody_before_a_full_limit() -> None:
    """Those who are expected have until then to be heard."""
    view = FleetView("fleet", period=10.0)
    view.expect([f"eu{number}" for number in range(10)])
    system = VirtualSystem("hub", seed=1)
    system.start(view.child())
    with Recorder(system) as events:
        system.clock.advance(29.0)
        assert told(events) == []
        beat(view, range(5))
        system.clock.advance(1.0)
    assert told(events) == ["hub/fleet: fleet 'fleet': the whole: 5 of 10 are alive (50%, below 80%)"]
    system.stop()


def test_a_hub_that_was_away_says_so_and_not_that_its_agents_are() -> None:
    view = FleetView("fleet", period=10.0)
    system = VirtualSystem("hub", seed=1)
    system.start(view.child())
    beat(view, range(20))
    system.clock.advance(20.0)
    with Recorder(system) as events:
        system.suspend("hub/fleet")
        system.clock.advance(500.0)
        system.resume("hub/fleet")
        beat(view, range(20))
        system.clock.advance(29.0)
    [away] = events.of(FleetAway)
    assert (away.seconds, away.why) == (pytest.approx(500.0, abs=1.0), "the hub was away")
    assert (len(told(events)), view.look().whole.alive) == (1, 20)
    system.stop()


def test_a_hub_that_heard_nobody_says_so_when_it_hears_again() -> None:
    view = FleetView("fleet", period=10.0, watches=[])
    system = VirtualSystem("hub", seed=1)
    system.start(view.child())
    with Recorder(system) as events:
        beat(view, range(20))
        system.clock.advance(600.0)
        beat(view, range(1))
        system.clock.advance(2.0)
    [away] = events.of(FleetAway)
    assert (away.why, away.seconds) == ("the hub heard nobody", pytest.approx(600.0, abs=2.0))
    assert view.look().whole.dead == 0
    system.stop()


def test_many_arrivals_a_second_are_a_storm_which_is_told_when_it_begins_and_when_it_is_over() -> None:
    view = FleetView("fleet", period=10.0, storm=50.0, watches=[])
    system = VirtualSystem("hub", seed=1)
    system.start(view.child())
    with Recorder(system) as events:
        beat(view, range(1_000))
        system.clock.advance(31.0)
        assert events.of(FleetStorm) == [], "all are new to a hub that has just begun"
        beat(view, range(1_000))
        for number in range(60):
            view.beat(f"eu{number}", incarnation="one", started=1)
            view.beat(f"eu{number}", incarnation="two", started=2)
        beat(view, range(10), "us")
        system.clock.advance(1.0)
        beat(view, range(10, 70), "us")
        system.clock.advance(11.0)
        beat(view, range(70, 110), "us")
        system.clock.advance(20.0)
    [storm], [calm] = events.of(FleetStorm), events.of(FleetCalm)
    assert (storm.new, storm.returned, storm.restarted, storm.rate) == (10, 1_000, 60, 1_070)
    assert (calm.arrivals, calm.peak, calm.seconds) == (1_130, 1_070, 1.0)
    assert not view.look().is_storm
    assert str(storm).endswith("a storm of 1070 agents a second (10 new, 1000 returned, 60 restarted)")
    assert str(calm).endswith("the storm is over: 1130 agents came in 1 s, up to 1070/s")
    system.stop()


def test_a_full_hub_says_so_once_until_there_was_room() -> None:
    view = FleetView("fleet", most=10, watches=[])
    system = VirtualSystem("hub", seed=1)
    system.start(view.child())
    with Recorder(system) as events:
        for _ in range(3):
            beat(view, range(20))
            system.clock.advance(1.0)
        assert len(events.of(FleetFull)) == 1
        view.forget("eu0", "eu1", "eu2")
        system.clock.advance(1.0)
        beat(view, range(20))
        system.clock.advance(1.0)
    assert told(events) == ["hub/fleet: fleet 'fleet' has 10 agents, and refuses others"] * 2
    system.stop()
