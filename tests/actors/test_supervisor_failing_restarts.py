"""Supervisor: restarts that fail, and what is asked meanwhile. OTP cases G."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.reason import RestartLimit, Shutdown
from otpy.errors import ChildStateError
from support.lab import BOOM, Asker, Worker, started, states

if TYPE_CHECKING:
    from support.lab import Lab

SUP = otpy.Supervisor

FOUR = "abcd"


@pytest.mark.otp_case(120, 121, 122, 124, 125)
@pytest.mark.parametrize(
    ("strategy", "limit", "plan", "killed", "trace"),
    [
        # Case 120
        pytest.param(
            *("one_for_one", 1, "+!*", "b", "!b -c(shutdown) -a(shutdown) SUP(shutdown)"),
            marks=pytest.mark.report("A47", "fizzAI/fauxtp"),
        ),
        ("one_for_one", 0, "+!*", "b", "-c(shutdown) -a(shutdown) SUP(shutdown)"),
        # Case 121
        pytest.param(*("one_for_one", 3, "+!!", "b", "!b !b +b"), marks=pytest.mark.report("A2", "atomvm/AtomVM#1957")),
        ("one_for_one", 2, "+!!", "b", "!b !b -c(shutdown) -a(shutdown) SUP(shutdown)"),
        # Case 122
        ("rest_for_one", 3, "+!*", "b", "-c(shutdown) !b !b !b -a(shutdown) SUP(shutdown)"),
        ("rest_for_one", 3, "+!!", "b", "-c(shutdown) !b !b +b +c"),
        # Case 124
        ("rest_for_one", 3, "+!", "a", "-c(shutdown) -b(shutdown) +a !b +b +c"),
        ("one_for_all", 3, "+!", "a", "-c(shutdown) -b(shutdown) +a !b -a(shutdown) +a +b +c"),
        ("rest_for_one", 1, "+!", "a", "-c(shutdown) -b(shutdown) +a !b -a(shutdown) SUP(shutdown)"),
        ("one_for_all", 1, "+!", "a", "-c(shutdown) -b(shutdown) +a !b -a(shutdown) SUP(shutdown)"),
        # Case 125
        ("one_for_one", 3, "+~", "b", "~b"),
        ("rest_for_one", 3, "+~", "b", "-c(shutdown) ~b +c"),
        ("one_for_all", 3, "+~", "b", "-c(shutdown) -a(shutdown) +a ~b +c"),
    ],
)
def test_restart_that_fails(lab: Lab, strategy: str, limit: int, plan: str, killed: str, trace: str) -> None:
    """The starts of b go as planned."""
    started(lab, lab.worker("a"), lab.worker("b", plan), lab.worker("c"), strategy=strategy, max_restarts=limit)
    lab.kill(killed)
    assert lab.trace() == f"✝{killed} {trace}"


@pytest.mark.otp_case(125)
def test_child_whose_restart_is_ignored_stays_without_a_process(lab: Lab) -> None:
    sup = started(lab, lab.worker("a"), lab.worker("b", "+~"), lab.worker("c"))
    lab.kill("b")
    lab.settle()
    assert states(sup) == {"a": "running", "b": "stopped", "c": "running"}
    counts = sup.call(SUP.count_children)
    assert (counts.specs, counts.active) == (3, 2)


@pytest.mark.otp_case(126, 129)
@pytest.mark.parametrize("strategy", ["one_for_one", "rest_for_one"])
def test_requests_are_served_between_the_attempts_of_a_failing_restart(lab: Lab, strategy: str) -> None:
    """The first attempt waits at a gate until all requests stand in the mailbox before the next."""
    gate = lab.gate()
    b = lab.worker("b", "+!!", at_start=lambda number: number == 2 and gate.wait())
    sup = started(lab, lab.worker("a"), b, lab.worker("c"), strategy=strategy)
    kept = lab.refs["a"]
    answers: list[list[Any]] = []

    def ask_later(request: Any, *args: Any) -> None:
        answers.append([])  # one for each asker: which of them goes on first when several get their answers is open
        asker = lab.system.start(otpy.child(Asker, sup, answers[-1]))
        asker.cast(Asker.ask, request, args)
        lab.settle()

    lab.kill("b")
    gate.reached()
    ask_later(SUP.which_children)
    ask_later(SUP.count_children)
    ask_later(SUP.restart_child, "b")
    ask_later(SUP.delete_child, "b")
    ask_later(SUP.start_child, lab.worker("b"))
    ask_later(SUP.get_childspec, "b")
    ask_later(SUP.start_child, lab.worker("n"))
    gate.open()
    lab.settle()
    which, counts, restarted, deleted, again, spec, new = [answer for [answer] in answers]
    expected = {"a": "running", "b": "restarting", "c": "running" if strategy == "one_for_one" else "stopped"}
    assert {info.id: info.state for info in which} == expected
    active = 2 if strategy == "one_for_one" else 1
    assert (counts.specs, counts.active, counts.supervisors, counts.workers) == (3, active, 0, 3)
    assert isinstance(restarted, ChildStateError)
    assert restarted.state == "restarting"
    assert isinstance(deleted, ChildStateError)
    assert deleted.state == "restarting"
    assert isinstance(again, ChildStateError)
    assert again.state == "already present"
    assert spec.id == "b"
    assert new.path == "lab/top/n"
    assert lab.refs["a"] is kept
    assert set(states(sup).values()) == {"running"}


@pytest.mark.report("A32", "akka/akka-core#26141")
def test_messages_to_the_name_of_a_child_that_is_being_restarted_harm_nobody(lab: Lab) -> None:
    gate = lab.gate()
    b = lab.worker("b", "+!!", at_start=lambda number: number == 2 and gate.wait()).opts(name="b")
    sup = started(lab, b)
    name = lab.system.ref(otpy.name(Worker, "b"))
    lab.kill("b")
    gate.reached()
    name.tell("hello")
    name.cast(Worker.end, BOOM)
    gate.open()
    assert lab.trace() == "✝b !b !b +b"
    assert sup.is_alive()


def test_terminate_child_ends_the_attempts_of_a_failing_restart(lab: Lab) -> None:
    """Semantics 7.6 and 7.10."""
    gate = lab.gate()
    sup = started(lab, lab.worker("b", "+!*", at_start=lambda number: number == 2 and gate.wait()))
    lab.kill("b")
    gate.reached()
    asker = lab.system.start(otpy.child(Asker, sup, []))
    asker.cast(Asker.ask, SUP.terminate_child, ("b",))
    lab.settle()
    gate.open()
    assert lab.trace() == "✝b !b"
    assert states(sup) == {"b": "stopped"}


@pytest.mark.otp_case(128)
def test_supervisor_told_to_stop_during_a_restart_loop_stops_promptly(lab: Lab) -> None:
    gate = lab.gate()
    b = lab.worker("b", "+!*", at_start=lambda number: number == 3 and gate.wait())
    sup = started(lab, lab.worker("a"), b, max_restarts=1_000)
    lab.kill("b")
    gate.reached()
    sup.stop(Shutdown(), block=False)
    gate.open()
    assert lab.trace() == "✝b !b !b -a(shutdown) SUP(shutdown)"


@pytest.mark.otp_case(130)
@pytest.mark.report("A1", "atomvm/AtomVM#1915")
def test_child_that_crashes_right_after_its_init_reaches_the_limit(lab: Lab) -> None:
    starts: list[int] = []

    class Hasty(otpy.GenServer):
        def init(self) -> object:
            starts.append(self.ref.number)
            return otpy.Continue()

        def handle_continue(self, term: object) -> None:
            raise ValueError("boom")

    sup = started(lab, lab.worker("a"), max_restarts=3, max_seconds=5.0)
    sup.call(SUP.start_child, otpy.child(Hasty))
    assert lab.trace() == "-a(shutdown) SUP(shutdown)"
    assert len(starts) == 4
    assert isinstance(sup.reason, Shutdown)
    assert isinstance(sup.reason.detail, RestartLimit)
