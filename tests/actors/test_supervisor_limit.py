"""Supervisor: the restart limit. OTP cases H."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.reason import RestartLimit, Shutdown
from otpy.errors import CallExitError
from otpy.events import ChildTerminated, RestartLimitReached
from otpy.testing.recorder import Recorder
from support.lab import Asker, started, tree
from support.timelines import ROWS

if TYPE_CHECKING:
    from support.lab import Lab

SUP = otpy.Supervisor


@pytest.mark.otp_case(132, 133, 134)
@pytest.mark.parametrize(("max_restarts", "max_seconds", "crashes", "of_otp", "expected"), ROWS)
def test_restarts_are_counted_on_the_systems_clock(
    lab: Lab, max_restarts: int, max_seconds: float, crashes: list[int], of_otp: int | None, expected: int | None
) -> None:
    """A millisecond of the tables is 1/1024 s here: floats then hit the edge of the window exactly."""
    started(lab, lab.worker("a"), max_restarts=max_restarts, max_seconds=max_seconds * 1000 / 1024)
    for number, (before, crash) in enumerate(pairwise([0, *crashes]), 1):
        lab.clock.advance((crash - before) / 1024)
        lab.kill("a")
        assert lab.trace() == ("✝a SUP(shutdown)" if number == expected else "✝a +a")


@pytest.mark.otp_case(136)
def test_limits_multiply_when_supervisors_are_nested(lab: Lab) -> None:
    """There are 3 x 3 starts of a child that crashes right after each."""
    starts: list[int] = []

    class Hasty(otpy.GenServer):
        def init(self) -> object:
            starts.append(1)
            return otpy.Continue()

        def handle_continue(self, term: object) -> None:
            raise ValueError("boom")

    inner = tree(otpy.child(Hasty), id="inner", max_restarts=2)
    sup = lab.start(tree(inner, max_restarts=2))
    lab.settle()
    assert len(starts) == 9
    assert isinstance(sup.reason, Shutdown)
    assert isinstance(sup.reason.detail, RestartLimit)


@pytest.mark.otp_case(137)
@pytest.mark.report("A46", "linkdd/triotp")
def test_children_share_one_counter(lab: Lab) -> None:
    started(lab, *lab.workers("ab"), max_restarts=1)
    lab.kill("a")
    assert lab.trace() == "✝a +a"
    lab.kill("b")
    assert lab.trace() == "✝b -a(shutdown) SUP(shutdown)"


@pytest.mark.otp_case(138)
def test_restarts_by_hand_do_not_count(lab: Lab) -> None:
    sup = started(lab, lab.worker("a"), max_restarts=1)
    for _ in range(5):
        sup.call(SUP.terminate_child, "a")
        sup.call(SUP.restart_child, "a")
        assert lab.trace() == "-a(shutdown) +a"
    lab.kill("a")
    assert lab.trace() == "✝a +a"
    assert sup.is_alive()


@pytest.mark.report("A20", "elixir-lang/elixir#6123")
@pytest.mark.report("A23", "ergo-services/ergo#213")
def test_giving_up_stops_all_siblings_and_says_why(lab: Lab) -> None:
    sup = started(lab, *lab.workers("abcd"), max_restarts=3, max_seconds=5.0)
    with Recorder(lab.system, RestartLimitReached) as recorder:
        for ident in "abc":
            lab.kill(ident)
            lab.settle()
        lab.trace()
        lab.kill("d")
        assert lab.trace() == "✝d -c(shutdown) -b(shutdown) -a(shutdown) SUP(shutdown)"
    limit = RestartLimit("lab/top", "d", 3, 5.0, otpy.Killed())
    assert sup.reason == Shutdown(limit)
    before = "a (killed, 0 s before), b (killed, 0 s before), c (killed, 0 s before)"
    text = "reached the restart limit of 3 restarts in 5 s with child d (killed), after restarts of " + before
    assert str(sup.reason) == f"shutdown: lab/top {text}"
    [report] = recorder.of(RestartLimitReached)
    assert str(report) == f"lab/top gives up: {text}"
    assert [(restart.child, restart.reason, restart.ago) for restart in report.restarts] == [
        ("a", "killed", 0.0),
        ("b", "killed", 0.0),
        ("c", "killed", 0.0),
    ]


@pytest.mark.report("A10", "erlang/otp#9866")
@pytest.mark.report("A20", "elixir-lang/elixir#6123")
def test_the_restarts_told_are_those_of_the_window_and_the_last_ten(lab: Lab) -> None:
    sup = started(lab, *lab.workers("ab"), max_restarts=12, max_seconds=30.0)
    lab.kill("b")
    lab.settle()
    lab.clock.advance(31.0)
    for _ in range(12):
        lab.kill("a")
        lab.settle()
        lab.clock.advance(1.0)
    lab.kill("b")
    lab.settle()
    assert isinstance(sup.reason, Shutdown)
    limit = sup.reason.detail
    assert isinstance(limit, RestartLimit)
    assert [restart.ago for restart in limit.restarts] == [10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
    assert str(limit).endswith("with child b (killed), after restarts of 2 more, 10 × a (killed, 10 s before)")


def test_of_many_different_restarts_the_last_five_are_written_out(lab: Lab) -> None:
    sup = started(lab, *lab.workers("abcdefgh"), max_restarts=7)
    lab.kill(*"abcdefgh")
    lab.settle()
    runs = ", ".join(f"{ident} (killed, 0 s before)" for ident in "cdefg")
    assert str(sup.reason).endswith(f"with child h (killed), after restarts of 2 more, {runs}")


@pytest.mark.report("A20", "elixir-lang/elixir#6123")
def test_who_calls_a_child_is_told_that_its_supervisor_gave_up(lab: Lab) -> None:
    """The child itself ends with a plain shutdown, as in OTP: nothing in that says what happened."""
    sup = started(lab, lab.worker("a", traps=False), lab.worker("b"), max_restarts=0)
    child = lab.refs["a"]
    lab.system.suspend(child.path)
    waiting = child.ask("never", block=False)
    lab.kill("b")
    lab.settle()
    limit = "its supervisor lab/top reached the restart limit of 0 restarts in 10 s with child b (killed)"
    for call in (lambda: waiting.get(timeout=5.0), lambda: child.ask("late")):
        with pytest.raises(CallExitError, match="shutdown") as caught:
            call()
        assert limit in str(caught.value)
        assert caught.value.reason == Shutdown()
        assert caught.value.limit == (sup.reason.detail if isinstance(sup.reason, Shutdown) else None)


def test_an_outer_supervisor_tells_why_an_inner_one_gave_up(lab: Lab) -> None:
    inner = tree(lab.worker("i"), id="in", max_restarts=0)
    outer = started(lab, inner, id="out", max_restarts=0)
    asked = lab.refs["i"]
    lab.kill("i")
    lab.settle()
    text = (
        "lab/out reached the restart limit of 0 restarts in 10 s with child in "
        "(shutdown: lab/out/in reached the restart limit of 0 restarts in 10 s with child i (killed))"
    )
    assert str(outer.reason) == f"shutdown: {text}"
    with pytest.raises(CallExitError) as caught:
        outer.call(SUP.which_children)
    assert text in str(caught.value)
    with pytest.raises(CallExitError, match=r"\(killed\); its supervisor lab/out/in reached the restart limit"):
        asked.ask("late")


@pytest.mark.report("A20", "elixir-lang/elixir#6123")
def test_giving_up_is_told_to_who_waits_for_an_answer(lab: Lab) -> None:
    """Four kills are one more than the default bears; the error says which supervisor, child and limit it was."""
    sup = started(lab, *lab.workers("abcd"), max_restarts=3, max_seconds=5.0)
    answers: list[Any] = []
    lab.system.suspend(sup.path)
    lab.kill(*"abcd")
    lab.system.start(otpy.child(Asker, sup, answers)).cast(Asker.ask, SUP.which_children, ())
    lab.settle()
    lab.system.resume(sup.path)
    lab.settle()
    [error] = answers
    assert isinstance(error, CallExitError)
    assert isinstance(error.reason, Shutdown)
    assert isinstance(error.reason.detail, RestartLimit)
    assert "lab/top reached the restart limit of 3 restarts in 5 s with child d (killed)" in str(error)


@pytest.mark.report("A29", "pathosDev/actor-ts#638")
def test_nested_supervisors_spend_each_their_own_budget(lab: Lab) -> None:
    inner = tree(lab.worker("i"), id="in", max_restarts=2)
    sup = started(lab, lab.worker("o"), inner, max_restarts=1)
    for ident in "iioi":
        assert sup.is_alive()
        lab.kill(ident)
        lab.settle()
    assert lab.trace() == "✝i +i ✝i +i ✝o +o ✝i -o(shutdown) SUP(shutdown)"


@pytest.mark.report("A19", "elixir-lang/elixir#7316")
def test_each_end_is_reported_once(lab: Lab) -> None:
    started(lab, lab.worker("a"))
    with Recorder(lab.system, ChildTerminated) as recorder:
        lab.kill("a")
        lab.settle()
    assert [(event.path, event.reason) for event in recorder.of(ChildTerminated)] == [("lab/top/a", otpy.Killed())]


@pytest.mark.report("A8", "erlang/otp#1287")
def test_child_that_stops_longer_than_the_window_never_reaches_the_limit(lab: Lab) -> None:
    """As documented, the time that passes while children stop counts like any other."""
    slow = lab.worker("b", at_stop=lambda: otpy.sleep(6.0))
    sup = started(
        lab, lab.worker("a"), slow.opts(shutdown=10.0), strategy="one_for_all", max_restarts=1, max_seconds=5.0
    )
    for _ in range(4):
        lab.kill("a")
        lab.clock.advance(7.0)
    assert sup.is_alive()
    sup.stop(Shutdown(), block=False)
    lab.clock.advance(7.0)
