"""A hub sees who is alive, silent, dead and never seen, by labels, and within its bounds."""

from __future__ import annotations

from typing import Any

import pytest

import otpy
from otpy.control.doctor import look_over
from otpy.errors import SpecError, StartError
from otpy.fleet import Beat, BeatError, FleetFullError, FleetView, Watch
from otpy.testing import VirtualSystem
from support.fleets import state


def why(view: FleetView, name: str = "a") -> str | None:
    found = view.agent(name)
    return None if found is None else found.why


def numbers(view: FleetView) -> tuple[int, int, int, int]:
    whole = view.look().whole
    return whole.alive, whole.silent, whole.dead, whole.never_seen


def test_an_agent_is_alive_then_silent_then_dead_by_the_period_it_announces(
    system: VirtualSystem, view: FleetView
) -> None:
    view.beat("quick", period=1.0)
    view.beat("slow", period=100.0)
    system.clock.advance(3.0)
    assert (state(view, "quick"), state(view, "slow")) == ("silent", "alive")
    system.clock.advance(9.0)
    assert (state(view, "quick"), why(view, "quick")) == ("dead", "it was silent for 12 s")
    system.clock.advance(288.0)
    assert state(view, "slow") == "silent"
    view.beat("slow")
    assert (state(view, "slow"), numbers(view)) == ("alive", (1, 0, 1, 0))


def test_beats_keep_an_agent_alive_and_move_nothing(system: VirtualSystem, view: FleetView) -> None:
    for _ in range(20):
        view.beat("a")
        system.clock.advance(29.0)
        assert state(view) == "alive"
    system.clock.advance(1.0)
    assert state(view) == "silent"


def test_a_shorter_period_counts_from_when_it_is_announced(system: VirtualSystem, view: FleetView) -> None:
    view.beat("a", period=1_000.0)
    view.beat("a", period=2.0)
    system.clock.advance(6.0)
    assert state(view) == "silent"


def test_a_goodbye_is_a_death_that_nobody_misses(system: VirtualSystem, view: FleetView) -> None:
    view.beat("a", state="draining", why="scale-in")
    assert (state(view), why(view)) == ("draining", "scale-in")
    view.beat("b")
    view.beat("a", state="gone", why="drained")
    look = view.look().whole
    assert (state(view), why(view), look.gone, look.share, look.wanted) == ("dead", "drained", 1, 1.0, 1)


def test_one_that_falls_silent_while_draining_is_said_to_have_been(system: VirtualSystem, view: FleetView) -> None:
    view.beat("a", state="draining", why="scale-in")
    system.clock.advance(31.0)
    assert (state(view), why(view)) == ("silent", "it was draining: scale-in")
    system.clock.advance(90.0)
    assert (state(view), why(view)) == ("dead", "it was silent for 120 s; it was draining: scale-in")


def test_who_is_expected_by_name_is_never_seen_until_it_is(system: VirtualSystem, view: FleetView) -> None:
    view.expect(["a", "b"], labels={"region": "eu"})
    view.beat("a")
    assert (state(view, "a"), state(view, "b"), numbers(view)) == ("alive", "never_seen", (1, 0, 0, 1))
    [group] = view.groups("region")
    assert (group.value, group.share) == ("eu", 0.5)
    view.beat("a", state="gone")
    assert view.look().whole.share == 0.0, "it is expected, and has gone"
    view.expect(["a"])
    assert view.forget("a", "b", "c") == 2
    assert view.look().whole.share == 1.0


def test_so_many_may_be_expected_of_a_group(system: VirtualSystem, view: FleetView) -> None:
    view.expect(count=4, labels={"region": "eu"})
    view.expect(count=5)
    view.beat("a", labels={"region": "eu"})
    [group] = view.groups("region")
    assert (group.alive, group.never_seen, group.share, view.look().whole.never_seen) == (1, 3, 0.25, 4)
    view.beat("a", state="gone")
    assert view.groups("region")[0].share == 0.0
    view.expect(count=0, labels={"region": "eu"})
    assert view.groups("region")[0].share == 1.0


def test_who_is_expected_of_groups_is_missing_in_the_whole_fleet_once(system: VirtualSystem, view: FleetView) -> None:
    for labels, count in (({"region": "eu"}, 3), ({"region": "us"}, 1), ({"version": "1"}, 2)):
        view.expect(count=count, labels=labels)
    view.beat("a", labels={"region": "eu", "version": "1"})
    whole = view.look().whole
    assert (whole.never_seen, whole.wanted, whole.share) == (3, 4, 0.25)
    view.beat("a", state="gone")
    assert (view.look().whole.never_seen, view.look().whole.wanted) == (3, 4)


def test_a_hub_that_was_away_gives_everybody_a_full_limit(system: VirtualSystem, view: FleetView) -> None:
    view.beat("a")
    system.suspend("hub/fleet")
    system.clock.advance(1_000.0)
    system.resume("hub/fleet")
    system.clock.advance(29.0)
    assert (state(view), view.look().grace > 0) == ("alive", True)
    system.clock.advance(2.0)
    assert state(view) == "silent"


def test_an_actor_that_is_started_again_does_so_too(system: VirtualSystem, view: FleetView) -> None:
    view.beat("a")
    system.clock.advance(25.0)
    system.kill("hub/fleet")
    system.wait_idle()
    again = VirtualSystem("other", seed=1)
    assert view.beat("a") == "taken", "its books are still there"
    with pytest.raises(StartError):
        again.start(otpy.child(Twice, view))
    again.stop()


class Twice(otpy.Supervisor):
    """Has the same view twice."""

    def init(self, view: FleetView) -> None:
        self.view = view

    def children(self) -> list[otpy.ChildSpec]:
        return [self.view.child(), self.view.child().opts(id="twice")]


def test_nobody_dies_while_nobody_at_all_is_heard(system: VirtualSystem, view: FleetView) -> None:
    """The hub's own line is cut: ten agents are not all dead."""
    for number in range(10):
        view.beat(f"a{number}")
    system.clock.advance(1_000.0)
    assert (numbers(view), view.look().is_deaf) == ((0, 10, 0, 0), True)
    view.beat("a1")
    system.clock.advance(25.0)
    assert numbers(view) == (1, 9, 0, 0)
    system.clock.advance(94.0)
    assert numbers(view) == (0, 10, 0, 0), "now it is the hub again"
    view.beat("a1")
    view.beat("a2")
    system.clock.advance(29.0)
    view.beat("a1")
    assert not view.look().is_deaf


def test_few_may_all_be_dead(system: VirtualSystem, view: FleetView) -> None:
    view.beat("a")
    system.clock.advance(120.0)
    assert state(view) == "dead"


def test_the_dead_are_forgotten_after_a_time_but_not_those_who_are_expected(system: VirtualSystem) -> None:
    view = FleetView("short", period=1.0, forget=60.0)
    system.start(view.child())
    view.expect(["kept"])
    for name in ("kept", "lost", "left"):
        view.beat(name, labels={"id": name})
    view.beat("left", state="gone")
    system.clock.advance(61.0)
    assert (state(view, "lost"), state(view, "left")) == ("dead", None)
    system.clock.advance(20.0)
    assert [look.name for look in view.agents()] == ["kept"]
    assert [group.value for group in view.groups("id")] == ["kept"]
    assert view.look().forgotten == 2


def test_beyond_the_cap_the_oldest_dead_makes_room_and_else_one_is_refused(system: VirtualSystem) -> None:
    view = FleetView("small", period=10.0, most=2)
    system.start(view.child())
    assert [view.beat(name) for name in "abc"] == ["taken", "taken", "full"]
    view.beat("a", state="gone")
    assert [view.beat(name) for name in "cd"] == ["taken", "full"]
    assert [look.name for look in view.agents()] == ["b", "c"]
    assert (view.look().refused, view.look().forgotten) == (2, 1)
    with pytest.raises(FleetFullError, match="knows 2 agents"):
        view.expect(["d"])


def test_values_of_labels_beyond_the_limit_are_counted_together(system: VirtualSystem) -> None:
    view = FleetView("narrow", groups=2)
    system.start(view.child())
    for number in range(200):
        view.beat(f"a{number}", labels={"id": str(number), f"l{number}": "x"})
    found = {group.value: group.alive for group in view.groups("id")}
    assert (found["0"], found["(other)"], len(view.look().labels) < 150) == (1, 199, True)


def test_a_label_that_changes_moves_the_agent(system: VirtualSystem, view: FleetView) -> None:
    view.beat("a", labels={"version": "1"})
    view.beat("a")
    view.beat("a", labels={"version": "2"})
    assert [(group.value, group.alive) for group in view.groups("version")] == [("2", 1)]


def test_agents_are_found_by_state_and_label_and_the_longest_silence_comes_first(
    system: VirtualSystem, view: FleetView
) -> None:
    for second, name in enumerate("cab"):
        view.beat(name, labels={"region": "eu" if name != "b" else "us"})
        system.clock.advance(1.0 + second)
    view.beat("z", state="degraded", figures={"rows": 3})
    assert [look.name for look in view.agents(labels={"region": "eu"})] == ["a", "c"]
    assert [(look.name, look.figures) for look in view.agents("degraded")] == [("z", {"rows": 3})]
    assert [look.name for look in view.agents(limit=2)] == ["a", "b"]
    system.clock.advance(29.0)
    view.beat("z")
    assert [look.name for look in view.silences(2)] == ["c", "a"]
    assert view.look().whole.oldest_silence == 35.0
    with pytest.raises(ValueError, match="did you mean 'silent'"):
        view.agents("silnet")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "plain",
    [
        None,
        {},
        {"agent": ""},
        {"agent": "x" * 201},
        {"agent": 7},
        {"agent": []},
        {"agent": "a", "labels": []},
        {"agent": "a", "labels": {"x": 1}},
        {"agent": "a", "labels": {"x": "y" * 201}},
        {"agent": "a", "labels": {str(n): "" for n in range(17)}},
        {"agent": "a", "state": "well"},
        {"agent": "a", "state": {}},
        {"agent": "a", "figures": {"x": "y"}},
        {"agent": "a", "figures": {"x": float("nan")}},
        {"agent": "a", "figures": [1]},
        {"agent": "a", "incarnation": 3},
        {"agent": "a", "sequence": True},
        {"agent": "a", "sequence": 1 << 70},
        {"agent": "a", "period": -1},
        {"agent": "a", "period": float("inf")},
        {"agent": "a", "at": 1.5},
        {"agent": "a", "why": ["x"]},
    ],
)
def test_what_is_no_heartbeat_is_counted_and_changes_nothing(
    system: VirtualSystem, view: FleetView, plain: Any
) -> None:
    assert view.beats([plain, Beat(agent="b").plain()]) == 1
    look = view.look()
    assert (look.malformed, look.beats, [one.name for one in view.agents()]) == (1, 1, ["b"])
    with pytest.raises(BeatError):
        Beat.read(plain)


def test_a_beat_survives_the_wire(system: VirtualSystem, view: FleetView) -> None:
    beat = Beat(agent="a", labels={"x": "y"}, state="degraded", why="w", figures={"n": 0}, incarnation="i", sequence=0)
    assert Beat.read({**beat.plain(), "new": "field"}) == beat
    assert Beat(agent="a").plain() == {"agent": "a"}
    view.beats([beat])
    found = view.agent("a")
    assert found is not None
    assert (found.state, found.why, found.labels, found.figures) == ("degraded", "w", {"x": "y"}, {"n": 0})
    with pytest.raises(BeatError):
        view.beat("a", state="well")  # type: ignore[arg-type]


def test_before_an_actor_keeps_it_nothing_is_taken(view: FleetView) -> None:
    assert (view.beat("a"), view.beats([{"agent": "a"}])) == ("unkept", 0)
    view.expect(["a"])
    system = VirtualSystem("late", seed=1)
    system.start(view.child())
    assert (state(view), system.records()[0].kind) == (
        "never_seen",
        "FleetView 0 alive, 0 silent, 0 dead, 1 never seen",
    )
    system.stop()


@pytest.mark.parametrize(
    "options",
    [
        {"period": 0},
        {"silent": 1.0},
        {"silent": 5.0, "dead": 5.0},
        {"longest": 1.0},
        {"grace": -1.0},
        {"forget": "day"},
        {"most": 0},
        {"groups": 1.5},
        {"storm": 0},
        {"watches": ["region"]},
        {"watches": [Watch(below=0.9, above=0.8)]},
        {"watches": [Watch(least=0)]},
        {"watches": [Watch(label="")]},
        {"watches": [Watch(), Watch(below=0.5)]},
    ],
)
def test_options_that_cannot_be_used_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(SpecError):
        FleetView("fleet", **options)


def test_an_expectation_is_names_or_a_count(view: FleetView) -> None:
    for words in (
        {},
        {"names": ["a"], "count": 1},
        {"names": "abc"},
        {"count": -1},
        {"count": 1, "labels": {"a": "b", "c": "d"}},
    ):
        with pytest.raises(SpecError):
            view.expect(**words)  # type: ignore[arg-type]
    with pytest.raises(SpecError):
        FleetView("a/b")


def test_the_doctor_finds_what_is_wrong_with_a_fleet() -> None:
    view = FleetView("fleet", period=10.0, most=12, watches=[Watch(), Watch(label="region")])
    system = VirtualSystem("hub", seed=1)
    system.start(view.child())
    for number in range(13):
        view.beat(f"a{number}", labels={"region": "eu"})
    system.clock.advance(1.0)
    assert [str(one) for one in look_over(system)] == [
        "hub/fleet: it has 12 agents, and refuses others: a larger `most` has room for them"
    ]
    system.clock.advance(40.0)
    view.forget("a0", "a1")
    for incarnation in ("one", "two", *["one"] * 10):
        view.beat("twin\n", incarnation=incarnation, labels={"region": "us"}, started=int(incarnation == "two"))
    tells = "agents are alive; otpy fleet hub{} --state silent tells whom it misses"
    assert [str(one).removeprefix("hub/fleet: ") for one in look_over(system)] == [
        "not one of its 10 agents is heard: is the way to this hub open?",
        "it has 12 agents, and refuses others: a larger `most` has room for them",
        f"the fleet: 1 of 11 {tells.format('')}",
        f"region=eu: 0 of 10 {tells.format(' --by region')}",
        r"two programs seem to be the agent 'twin\n': beats of an earlier life go on and on",
    ]
    system.stop()
