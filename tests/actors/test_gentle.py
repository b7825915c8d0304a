"""Gentle restarts: a pause before each, and what both options cost; `test_own_limits.py` has the other one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.actors.children import Entry
from otpy.actors.declared import check_child
from otpy.core.reason import Shutdown
from otpy.errors import ChildNotFoundError, ChildStateError, NoProcError, StartError
from otpy.events import RestartDelayed
from otpy.testing import Recorder, explore
from support.lab import Worker, dynamic, started, states, tree

if TYPE_CHECKING:
    from otpy.testing import VirtualSystem
    from support.lab import Lab

SUP, DYN = otpy.Supervisor, otpy.DynamicSupervisor

PAUSE = otpy.Backoff(first=1.0, jitter=0.0)
"""1, 2, 4, … 60 s, without chance."""


def slow(lab: Lab, ident: str = "b", plan: str = "+", **options: Any) -> otpy.ChildSpec:
    """A worker that is restarted after a pause."""
    return lab.worker(ident, plan).opts(backoff=PAUSE, **options)  # type: ignore[no-any-return]


# Back-off.


@pytest.mark.report("D116", "Supervisor/supervisor#487")
def test_each_restart_waits_longer_than_the_one_before(lab: Lab) -> None:
    started(lab, lab.worker("a"), slow(lab), max_restarts=1, max_seconds=0.5)
    for pause in (1.0, 2.0, 4.0):
        lab.kill("b")
        lab.clock.advance(pause - 0.01)
        assert lab.trace() == "✝b"
        lab.clock.advance(0.01)
        assert lab.trace() == "+b"


def test_a_healthy_while_begins_anew(lab: Lab) -> None:
    started(lab, lab.worker("b").opts(backoff=otpy.Backoff(first=1.0, jitter=0.0, reset_after=10.0)))
    with Recorder(lab.system, RestartDelayed) as recorder:
        for ran in (0.0, 9.0, 9.0, 10.0, 9.0):
            lab.clock.advance(ran)
            lab.kill("b")
            lab.settle()
            lab.clock.advance(recorder.of(RestartDelayed)[-1].seconds)
    assert [event.seconds for event in recorder.of(RestartDelayed)] == [1.0, 2.0, 4.0, 1.0, 2.0]
    assert str(recorder.events[0]) == "lab/top/b is to be started again in 1 s (killed)"


def test_time_that_siblings_take_to_stop_is_none_of_a_healthy_while(lab: Lab) -> None:
    backoff = otpy.Backoff(first=1.0, jitter=0.0, reset_after=2.0)
    pauses = [3.0, 3.0, 3.0, 0.0]  # the last end is that of the test
    slow_to_stop = lab.worker("b", at_stop=lambda: otpy.sleep(pauses.pop(0)))
    started(lab, lab.worker("a").opts(backoff=backoff), slow_to_stop, strategy="rest_for_one")
    with Recorder(lab.system, RestartDelayed) as recorder:
        for seconds in (1.0, 2.0, 4.0):
            lab.kill("a")
            lab.settle()
            lab.clock.advance(3.0)
            lab.settle()
            lab.clock.advance(seconds)
    assert [event.seconds for event in recorder.of(RestartDelayed)] == [1.0, 2.0, 4.0]


def test_pauses_are_drawn_from_the_systems_chance() -> None:
    def pauses(seed: int) -> list[float]:
        from support.lab import Lab  # noqa: PLC0415 - a laboratory of another seed

        lab = Lab()
        lab.system.random.seed(seed)
        started(lab, lab.worker("b").opts(backoff=otpy.Backoff(first=8.0, factor=1.0)), max_restarts=9)
        with Recorder(lab.system, RestartDelayed) as recorder:
            for _ in range(5):
                lab.kill("b")
                lab.settle()
                lab.clock.advance(8.0)
        lab.close()
        return [event.seconds for event in recorder.of(RestartDelayed)]

    assert pauses(1) == pauses(1) != pauses(2)
    assert all(0.0 < seconds <= 8.0 for seconds in pauses(3))


def test_restart_that_fails_waits_longer_each_time_and_counts_when_it_is_made(lab: Lab) -> None:
    started(lab, lab.worker("a"), slow(lab, "b", "+!*"), max_restarts=2, max_seconds=10.0)
    lab.kill("b")
    lab.clock.advance(1.0)
    assert lab.trace() == "✝b !b"  # counted at 1 s
    lab.clock.advance(2.0)
    assert lab.trace() == "!b"  # at 3 s
    lab.clock.advance(3.9)
    assert lab.trace() == ""
    lab.clock.advance(0.1)
    assert lab.trace() == "-a(shutdown) SUP(shutdown)"  # at 7 s


def test_pauses_that_outgrow_the_window_never_reach_the_limit(lab: Lab) -> None:
    sup = started(lab, slow(lab, "b", "+!*"), max_restarts=3, max_seconds=5.0)
    lab.kill("b")
    lab.clock.advance(3_600.0)
    assert sup.is_alive()
    assert lab.starts["b"] == 1 + 6 + (3_600 - 63) // 60


@pytest.mark.parametrize(
    ("strategy", "stopped", "begun"),
    [
        ("one_for_one", "", "+b"),
        ("rest_for_one", "-d(shutdown) -c(shutdown)", "+b +c +d"),
        ("one_for_all", "-d(shutdown) -c(shutdown) -a(shutdown)", "+a +b +c +d"),
    ],
)
def test_a_group_stops_at_once_and_starts_together_when_the_pause_is_over(
    lab: Lab, strategy: str, stopped: str, begun: str
) -> None:
    sup = started(lab, lab.worker("a"), slow(lab), *lab.workers("cd"), strategy=strategy)
    lab.kill("b")
    assert lab.trace() == f"✝b {stopped}".strip()
    assert states(sup)["b"] == "restarting"
    assert states(sup)["c"] == ("stopped" if stopped else "running")
    lab.clock.advance(1.0)
    assert lab.trace() == begun
    assert set(states(sup).values()) == {"running"}


def test_restart_of_an_earlier_sibling_takes_a_waiting_child_along(lab: Lab) -> None:
    """As it does with one whose restart fails: it belongs to that round, and its pause is over."""
    started(lab, lab.worker("a"), slow(lab), strategy="rest_for_one")
    lab.kill("b")
    lab.kill("a")
    assert lab.trace() == "✝b ✝a +a +b"
    lab.clock.advance(60.0)
    assert lab.trace() == ""


@pytest.mark.report("A32", "akka/akka-core#26141")
def test_name_of_a_waiting_child_is_nobodys(lab: Lab) -> None:
    sup = started(lab, slow(lab, name="b"))
    name = lab.system.ref(otpy.name(Worker, "b"))
    lab.kill("b")
    lab.settle()
    with pytest.raises(NoProcError):
        name.call(Worker.ask_to_do, lambda worker: worker.ident)
    name.tell("hello")
    name.cast(Worker.do, print)
    lab.clock.advance(1.0)
    assert name.call(Worker.ask_to_do, lambda worker: worker.ident) == "b"
    assert sup.is_alive()


def test_requests_about_a_waiting_child_are_answered_as_about_a_restarting_one(lab: Lab) -> None:
    """Case 126, in a pause."""
    sup = started(lab, lab.worker("a"), slow(lab))
    lab.kill("b")
    assert states(sup) == {"a": "running", "b": "restarting"}
    counts = sup.call(SUP.count_children)
    assert (counts.specs, counts.active) == (2, 1)
    for request in (SUP.restart_child, SUP.delete_child):
        with pytest.raises(ChildStateError, match="lab/top/b is restarting"):
            sup.call(request, "b")
    with pytest.raises(ChildStateError, match="already present"):
        sup.call(SUP.start_child, lab.worker("b"))
    assert sup.call(SUP.get_childspec, "b").id == "b"
    assert sup.call(SUP.start_child, lab.worker("n")) is not None
    assert lab.trace() == "✝b +n"


def test_terminate_child_ends_the_pause(lab: Lab) -> None:
    sup = started(lab, slow(lab))
    lab.kill("b")
    lab.settle()
    sup.call(SUP.terminate_child, "b")
    assert states(sup) == {"b": "stopped"}
    lab.clock.advance(60.0)
    assert lab.trace() == "✝b"
    assert lab.system.timers.pending() == []
    sup.call(SUP.restart_child, "b")
    lab.kill("b")
    lab.clock.advance(2.0)
    assert lab.trace() == "+b ✝b +b"


def test_restart_by_path_does_not_wait(lab: Lab) -> None:
    sup = lab.system.start_root(tree(slow(lab)))
    lab.trace()
    lab.kill("b")
    lab.settle()
    lab.system.restart_child("lab/b")
    assert lab.trace() == "✝b +b"
    lab.clock.advance(60.0)
    assert lab.trace() == ""
    assert sup.is_alive()


def test_restart_by_hand_that_fails_in_a_pause_goes_on_waiting(lab: Lab) -> None:
    """Who is impatient while the database is down does not take the child out of supervision."""
    sup = lab.system.start_root(tree(slow(lab, plan="+!+")))
    lab.kill("b")
    lab.settle()
    with pytest.raises(StartError):
        lab.system.restart_child("lab/b")
    assert states(sup) == {"b": "restarting"}
    lab.clock.advance(2.0)
    assert lab.trace() == "+b ✝b !b +b"


def test_restart_by_hand_in_a_pause_starts_those_it_kept_waiting(lab: Lab) -> None:
    lab.system.start_root(tree(lab.worker("a"), slow(lab), lab.worker("c"), strategy="rest_for_one"))
    lab.kill("b")
    lab.settle()
    lab.system.restart_child("lab/b")
    assert lab.trace() == "+a +b +c ✝b -c(shutdown) +b +c"


def test_terminate_child_of_one_that_waits_lets_the_others_of_its_group_go_on(lab: Lab) -> None:
    sup = started(lab, lab.worker("a"), slow(lab), lab.worker("c"), strategy="rest_for_one")
    lab.kill("b")
    lab.settle()
    sup.call(SUP.terminate_child, "b")
    assert states(sup) == {"a": "running", "b": "stopped", "c": "running"}
    assert lab.trace() == "✝b -c(shutdown) +c"


def test_dynamic_child_whose_restart_by_hand_fails_in_a_pause_goes_on_waiting(lab: Lab) -> None:
    dyn = lab.system.start_root(otpy.dynamic())
    dyn.call(DYN.start_child, slow(lab, plan="+!+"))
    lab.kill("b")
    lab.settle()
    with pytest.raises(StartError):
        lab.system.restart_child("lab/1")
    lab.clock.advance(2.0)
    assert lab.trace() == "+b ✝b !b +b"


def test_supervisor_stops_promptly_during_a_pause_and_leaves_no_timer(lab: Lab) -> None:
    """Case 128, in a pause."""
    sup = started(lab, lab.worker("a"), slow(lab))
    lab.kill("b")
    lab.settle()
    sup.stop(Shutdown())
    assert lab.trace() == "✝b -a(shutdown) SUP(shutdown)"
    assert lab.system.timers.pending() == []


def test_supervisor_that_is_killed_during_a_pause_leaves_no_timer(lab: Lab) -> None:
    sup = started(lab, slow(lab))
    lab.kill("b")
    lab.settle()
    sup.kill()
    lab.settle()
    assert lab.system.timers.pending() == []


def test_waiting_child_is_published_with_the_time_that_is_left(lab: Lab) -> None:
    lab.system.start_root(tree(slow(lab)))
    lab.kill("b")
    lab.clock.advance(0.25)
    record = lab.system.record("lab/b")
    assert (record.status, record.next_start, record.last_exit) == ("restarting", 0.75, "killed")
    lab.clock.advance(0.75)
    record = lab.system.record("lab/b")
    assert (record.status, record.next_start, record.restarts) == ("idle", None, 1)


def test_dynamic_children_wait_each_for_itself(lab: Lab) -> None:
    dyn = dynamic(lab)
    first = dyn.call(DYN.start_child, slow(lab, "a"))
    dyn.call(DYN.start_child, slow(lab, "b"))
    lab.trace()
    lab.kill("a")
    lab.clock.advance(0.5)
    lab.kill("b")
    lab.clock.advance(0.5)
    assert lab.trace() == "✝a ✝b +a"
    assert [info.state for info in dyn.call(DYN.which_children)] == ["restarting", "running"]
    lab.clock.advance(0.5)
    assert lab.trace() == "+b"
    lab.kill("a")
    lab.settle()
    dyn.call(DYN.terminate_child, int(first.id))
    lab.clock.advance(60.0)
    assert lab.trace() == "✝a"
    assert dyn.call(DYN.count_children).specs == 1
    with pytest.raises(ChildNotFoundError, match="it has ended, or never was"):
        dyn.call(DYN.terminate_child, int(first.id))


# Costs, and every order of turns.


def test_child_without_such_options_costs_nothing_of_it() -> None:
    plain = check_child("t", otpy.child(otpy.GenServer).opts(shutdown=1.0))
    assert type(plain) is Entry
    assert Entry.__slots__ == ("cls", "last_exit", "ref", "restarting", "spec", "starts")
    assert check_child("t", otpy.child(otpy.GenServer)).spec.options is otpy.child(print).options


class Crasher(otpy.GenServer):
    """Fails at times to start, and crashes when told."""

    def init(self) -> object:
        return otpy.Stop(otpy.Exit("no")) if self.system.random.random() < 0.3 else None

    @otpy.cast
    def crash(self) -> None:
        raise ValueError("boom")


def shaken(strategy: str) -> Any:
    """A tree of gentle children, crashed at random, asked at random."""
    gentle = {"backoff": otpy.Backoff(first=0.5, most=4.0)}
    bounded = {"limit": otpy.Limit(3, 60.0), "name": "bounded"}

    def scenario(system: VirtualSystem) -> None:
        specs = [
            otpy.child(Crasher).opts(id="a", **gentle),
            otpy.child(Crasher).opts(id="b", **gentle, **bounded),
            otpy.child(Crasher).opts(id="c", limit=otpy.Limit(5, 1.0)),
            otpy.child(Crasher).opts(id="d"),
        ]
        try:
            top = system.start(tree(*specs, id="top", strategy=strategy, max_restarts=10_000))
        except StartError:
            return
        chance = system.random
        for _ in range(12):
            ident = chance.choice("abcd")
            ref = system.find(f"seeded/top/{ident}")
            if ref is not None and chance.random() < 0.6:
                ref.cast(Crasher.crash)
            elif chance.random() < 0.5:
                request = chance.choice([SUP.terminate_child, SUP.restart_child])
                try:
                    top.call(request, ident)
                except otpy.OtpyError:
                    assert top.is_alive()
            if chance.random() < 0.5:
                system.clock.advance(chance.random() * 3)
        if chance.random() < 0.5:
            system.clock.advance(600.0)
            assert "restarting" not in states(top).values()
        assert top.is_alive()

    return scenario


@pytest.mark.parametrize("strategy", ["one_for_one", "one_for_all", "rest_for_one"])
@pytest.mark.parametrize("seeds", [pytest.param(40, id="40"), pytest.param(400, id="400", marks=pytest.mark.stress)])
def test_gentle_trees_leave_nothing_behind_in_any_order(strategy: str, seeds: int) -> None:
    explore(shaken(strategy), seeds)
