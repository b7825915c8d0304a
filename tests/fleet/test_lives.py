"""Beats that are late, doubled, of another life of their agent, or of two programs with one name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.fleets import state

if TYPE_CHECKING:
    from otpy.fleet import FleetView
    from otpy.testing import VirtualSystem


def test_a_restart_is_another_incarnation_and_beats_of_the_one_before_are_fenced(
    system: VirtualSystem, view: FleetView
) -> None:
    assert view.beat("a", incarnation="one", sequence=7) == "taken"
    assert view.beat("a", incarnation="two", sequence=1) == "taken"
    assert view.beat("a", incarnation="one", sequence=8, state="gone") == "late"
    found = view.agent("a")
    assert found is not None
    assert (found.state, found.incarnation, found.restarts, found.fenced) == ("alive", "two", 1, 1)
    assert view.look().fenced == 1


def test_a_late_or_doubled_beat_of_the_same_incarnation_is_passed_over(system: VirtualSystem, view: FleetView) -> None:
    view.beat("a", incarnation="one", sequence=2, state="draining")
    said = [view.beat("a", incarnation="one", sequence=number) for number in (1, 2, 3)]
    assert (said, state(view), view.look().late) == (["late", "late", "taken"], "alive", 2)


def test_a_beat_that_overtook_a_goodbye_does_not_bring_anybody_back(system: VirtualSystem, view: FleetView) -> None:
    view.beat("a", incarnation="one")
    view.beat("a", incarnation="one", state="gone")
    assert (view.beat("a", incarnation="one"), state(view)) == ("late", "dead")
    assert (view.beat("a", incarnation="two"), state(view)) == ("taken", "alive")


def test_a_clock_that_was_set_back_does_not_fence_an_agent_for_ever(system: VirtualSystem, view: FleetView) -> None:
    """Its new life says it began earlier than the one before: it is believed when it is heard again, and that not."""
    view.beat("a", incarnation="one", started=5_000)
    assert view.beat("a", incarnation="two", started=1_000) == "late"
    system.clock.advance(10.0)
    assert view.beat("a", incarnation="two", started=1_000) == "taken"


def test_one_beat_of_a_life_the_hub_has_missed_ends_nothing(system: VirtualSystem, view: FleetView) -> None:
    view.beat("a", incarnation="three", started=3_000)
    for _ in range(3):
        assert view.beat("a", incarnation="two", started=2_000) == "late"
        system.clock.advance(10.0)
        assert view.beat("a", incarnation="three", started=3_000) == "taken"
    assert state(view) == "alive"


def test_nor_do_many_that_come_at_once(system: VirtualSystem, view: FleetView) -> None:
    """As from an outbox that was not emptied for a while."""
    view.beat("a", incarnation="three", started=3_000)
    old = [{"agent": "a", "incarnation": "two", "started": 2_000, "sequence": number} for number in range(20)]
    assert view.beats(old) == 0
    assert view.beat("a", incarnation="three", started=3_000) == "taken"


def test_of_two_programs_with_one_name_the_later_one_is_seen_and_the_other_when_that_is_gone(
    system: VirtualSystem, view: FleetView
) -> None:
    said = []
    for second in range(90):
        if second % 10 == 0:
            said.append(view.beat("a", incarnation="one", started=1, sequence=second))
        if second % 10 == 5 and second < 40:
            view.beat("a", incarnation="two", started=2, sequence=second)
        system.clock.advance(1.0)
    assert said == ["taken", "late", "late", "late", "late", "late", "late", "taken", "taken"]
    found = view.agent("a")
    assert found is not None
    assert (found.state, found.incarnation, found.fenced, found.restarts) == ("alive", "one", 6, 2)
    assert view.beat("a", incarnation="two", started=2, sequence=99) == "late"


def test_a_wrong_clock_is_seen_as_skew_and_nothing_follows_from_it(system: VirtualSystem, view: FleetView) -> None:
    view.beat("a", at=0, incarnation="one", started=0)
    found = view.agent("a")
    assert found is not None
    assert found.skew is not None
    assert (found.skew > 1e9, found.state, found.restarts) == (True, "alive", 0)
