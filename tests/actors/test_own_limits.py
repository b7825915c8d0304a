"""A restart limit of a child's own: it is given up alone, or takes its supervisor along."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.core.reason import RestartLimit, Shutdown
from otpy.errors import StartError
from otpy.events import ChildGivenUp, RestartLimitReached
from otpy.testing import Recorder
from support.lab import dynamic, started, states, tree

if TYPE_CHECKING:
    from support.lab import Lab

SUP, DYN = otpy.Supervisor, otpy.DynamicSupervisor

PAUSE = otpy.Backoff(first=1.0, jitter=0.0)
ONCE = otpy.Limit(1, 1_000.0)


def test_child_that_passes_its_own_limit_is_given_up_alone(lab: Lab) -> None:
    sup = started(lab, lab.worker("a"), lab.worker("b").opts(limit=ONCE), lab.worker("c"), max_restarts=0)
    kept = lab.refs["a"], lab.refs["c"]
    with Recorder(lab.system, ChildGivenUp, RestartLimitReached) as recorder:
        lab.kill("b")
        assert lab.trace() == "✝b +b"
        lab.kill("b")
        assert lab.trace() == "✝b"
    assert states(sup) == {"a": "running", "b": "failed", "c": "running"}
    assert (lab.refs["a"], lab.refs["c"]) == kept
    (event,) = recorder.of(ChildGivenUp)
    assert recorder.events == [event]
    limit = "1 restarts in 1000 s (killed)"
    assert str(event) == f"lab/top/b is given up: it reached its own limit of {limit}; otpy restart starts it"


def test_own_restarts_do_not_count_for_the_supervisor_and_the_others_do(lab: Lab) -> None:
    sup = started(lab, lab.worker("a"), lab.worker("b").opts(limit=otpy.Limit(9, 60.0)), max_restarts=1)
    for _ in range(9):
        lab.kill("b")
        lab.settle()
    lab.kill("a")
    lab.settle()
    assert sup.is_alive()
    lab.kill("a")
    lab.settle()
    assert not sup.is_alive()


def test_own_limit_forgets_what_was_long_ago(lab: Lab) -> None:
    sup = started(lab, lab.worker("b").opts(limit=otpy.Limit(1, 5.0)), max_restarts=0)
    for _ in range(4):
        lab.kill("b")
        lab.clock.advance(5.1)
    assert states(sup) == {"b": "running"}


def test_own_limit_may_end_the_supervisor(lab: Lab) -> None:
    limit = otpy.Limit(1, 60.0, then="escalate")
    sup = started(lab, lab.worker("a"), lab.worker("b").opts(limit=limit), max_restarts=99)
    with Recorder(lab.system, ChildGivenUp, RestartLimitReached) as recorder:
        for _ in range(2):
            lab.kill("b")
            lab.settle()
    assert lab.trace() == "✝b +b ✝b -a(shutdown) SUP(shutdown)"
    assert isinstance(sup.reason, Shutdown)
    found = sup.reason.detail
    assert isinstance(found, RestartLimit)
    assert (found.path, found.child, found.max_restarts, found.max_seconds) == ("lab/top", "b", 1, 60.0)
    assert [type(event) for event in recorder.events] == [RestartLimitReached]


@pytest.mark.report("A22", "kevinschweikert/homex#64")
def test_a_hundred_healthy_children_survive_one_in_a_crash_loop(lab: Lab) -> None:
    dyn = dynamic(lab, max_restarts=3, max_seconds=5.0)
    mild = otpy.Limit(3, 5.0)
    healthy = [dyn.call(DYN.start_child, lab.worker(f"h{n}").opts(limit=mild)) for n in range(100)]
    dyn.call(DYN.start_child, lab.worker("x", "+!*").opts(limit=mild))
    lab.kill("x")
    lab.settle()
    assert all(ref.is_alive() for ref in healthy)
    assert lab.starts["x"] == 4
    counts = dyn.call(DYN.count_children)
    assert (counts.specs, counts.active) == (101, 100)
    assert dyn.call(DYN.which_children)[0].state == "failed"


def test_child_that_was_given_up_is_brought_back_by_hand_with_a_new_count(lab: Lab) -> None:
    lab.system.start_root(tree(lab.worker("b").opts(limit=ONCE), max_restarts=0))
    for _ in range(2):
        for _ in range(2):
            lab.kill("b")
            lab.settle()
        assert lab.system.record("lab/b").status == "failed"
        lab.system.restart_child("lab/b")
        lab.settle()  # its start is over before its first turn is
        assert lab.system.record("lab/b").status == "idle"


def test_child_that_was_given_up_stays_so_when_its_start_by_hand_fails(lab: Lab) -> None:
    lab.system.start_root(tree(lab.worker("b", "++!+").opts(limit=ONCE)))
    for _ in range(2):
        lab.kill("b")
        lab.settle()
    with pytest.raises(StartError):
        lab.system.restart_child("lab/b")
        lab.settle()  # its start is over before its first turn is
        assert lab.system.record("lab/b").status == "failed"
    lab.system.restart_child("lab/b")
    lab.settle()  # its start is over before its first turn is
    assert lab.system.record("lab/b").status == "idle"


def test_dynamic_child_that_was_given_up_is_brought_back_by_its_path(lab: Lab) -> None:
    dyn = lab.system.start_root(otpy.dynamic())
    dyn.call(DYN.start_child, lab.worker("b", "++!+").opts(limit=ONCE))
    for _ in range(2):
        lab.kill("b")
        lab.settle()
    assert lab.system.record("lab/1").status == "failed"
    with pytest.raises(StartError):
        lab.system.restart_child("lab/1")
        lab.settle()  # its start is over before its first turn is
        assert lab.system.record("lab/1").status == "failed"
    lab.system.restart_child("lab/1")
    lab.settle()  # its start is over before its first turn is
    assert lab.system.record("lab/1").status == "idle"
    for _ in range(2):
        lab.kill("b")
        lab.settle()
    assert lab.system.record("lab/1").status == "failed"
    lab.system.terminate_child("lab/1")
    assert dyn.call(DYN.count_children).specs == 0


def test_given_up_child_can_be_stopped_and_deleted(lab: Lab) -> None:
    sup = started(lab, lab.worker("b", "+!*").opts(limit=ONCE))
    lab.kill("b")
    lab.settle()
    sup.call(SUP.terminate_child, "b")
    assert states(sup) == {"b": "stopped"}
    sup.call(SUP.delete_child, "b")
    assert states(sup) == {}


@pytest.mark.parametrize(
    ("strategy", "trace"),
    [
        ("one_for_one", "✝b !b"),
        ("rest_for_one", "✝b -c(shutdown) !b +c"),
        ("one_for_all", "✝b -c(shutdown) -a(shutdown) +a !b +c"),
    ],
)
def test_those_it_has_kept_waiting_start_without_it(lab: Lab, strategy: str, trace: str) -> None:
    b = lab.worker("b", "+!*").opts(limit=ONCE)
    sup = started(lab, lab.worker("a"), b, lab.worker("c"), strategy=strategy)
    lab.kill("b")
    assert lab.trace() == trace
    assert states(sup) == {"a": "running", "b": "failed", "c": "running"}


def test_the_group_starts_without_it_when_its_pause_ends_in_its_limit(lab: Lab) -> None:
    b = lab.worker("b").opts(limit=otpy.Limit(0), backoff=PAUSE)
    sup = started(lab, lab.worker("a"), b, lab.worker("c"), strategy="one_for_all")
    lab.kill("b")
    assert lab.trace() == "✝b -c(shutdown) -a(shutdown)"
    lab.clock.advance(1.0)
    assert lab.trace() == "+a +c"
    assert states(sup) == {"a": "running", "b": "failed", "c": "running"}


def test_restart_of_its_group_does_not_bring_it_back(lab: Lab) -> None:
    b = lab.worker("b", "+!*").opts(limit=otpy.Limit(0))
    sup = started(lab, lab.worker("a"), b, lab.worker("c"), strategy="one_for_all")
    lab.kill("b")
    assert lab.trace() == "✝b"
    lab.kill("a")
    assert lab.trace() == "✝a -c(shutdown) +a +c"
    assert states(sup)["b"] == "failed"


@pytest.mark.parametrize(("auto_shutdown", "ends"), [("any_significant", True), ("all_significant", False)])
def test_significant_child_that_is_given_up_has_ended(lab: Lab, auto_shutdown: str, *, ends: bool) -> None:
    own = {"restart": "transient", "significant": True}
    b, c = lab.worker("b").opts(limit=otpy.Limit(0), **own), lab.worker("c").opts(**own)
    started(lab, lab.worker("a"), b, c, auto_shutdown=auto_shutdown)
    lab.kill("b")
    assert lab.trace() == "✝b" + " -c(shutdown) -a(shutdown) SUP(shutdown)" * ends
