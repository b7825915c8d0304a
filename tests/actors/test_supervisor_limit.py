"""Supervisor: the restart limit, escalation, and the end of significant children. OTP cases H and I."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.reason import Normal, Reason, RestartLimit, Shutdown
from otpy.errors import CallExitError, SpecError, StartError
from otpy.events import ChildTerminated, RestartLimitReached
from otpy.testing.recorder import Recorder
from support.lab import BOOM, Asker, short, started, states, tree
from support.timelines import ROWS

if TYPE_CHECKING:
    from support.lab import Lab

SUP = otpy.Supervisor


# H. Restart intensity.


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


# I. Escalation and auto_shutdown.


@pytest.mark.otp_case(140)
def test_nested_supervisor_that_gives_up_is_restarted_until_the_outer_one_gives_up(lab: Lab) -> None:
    inner = tree(*lab.workers("ab"), id="in", max_restarts=0)
    started(lab, lab.worker("x"), inner, lab.worker("y"), max_restarts=1)
    kept = lab.refs["x"], lab.refs["y"]
    lab.kill("a")
    assert lab.trace() == "✝a -b(shutdown) +a +b"
    assert (lab.refs["x"], lab.refs["y"]) == kept
    lab.kill("a")
    assert lab.trace() == "✝a -b(shutdown) -y(shutdown) -x(shutdown) SUP(shutdown)"


@pytest.mark.otp_case(141)
def test_transient_supervisor_that_gives_up_is_not_restarted(lab: Lab) -> None:
    """It ends with shutdown, which is clean."""
    inner = tree(*lab.workers("ab"), id="in", max_restarts=0).opts(restart="transient")
    sup = started(lab, inner)
    lab.kill("a")
    assert lab.trace() == "✝a -b(shutdown)"
    assert states(sup) == {"in": "stopped"}


@pytest.mark.otp_case(142)
def test_restarted_supervisor_has_its_declared_children_and_no_others(lab: Lab) -> None:
    inner, beside = tree(lab.worker("s"), id="inner"), tree(lab.worker("b"), id="beside")
    sup = started(lab, inner, beside, strategy="one_for_all")
    nested = lab.system.find("lab/top/inner")
    assert nested is not None
    nested.call(SUP.start_child, lab.worker("added"))
    sup.call(SUP.terminate_child, "beside")
    assert lab.trace() == "+added -b(shutdown)"
    nested.kill()
    lab.settle()
    again = lab.system.find("lab/top/inner")
    assert again is not None
    assert again is not nested
    assert states(again) == {"s": "running"}
    assert states(sup) == {"inner": "running", "beside": "running"}
    assert lab.refs["b"].is_alive()


def significant(lab: Lab, ident: str, restart: Any = "temporary") -> otpy.ChildSpec:
    return lab.worker(ident).opts(restart=restart, significant=True)  # type: ignore[no-any-return]


@pytest.mark.otp_case(144)
@pytest.mark.parametrize(
    ("restart", "reason", "ends"),
    [
        ("temporary", BOOM, True),
        ("temporary", Normal(), True),
        ("transient", Normal(), True),
        ("transient", Shutdown("z"), True),
        ("transient", BOOM, False),
    ],
)
@pytest.mark.report("D115", "Supervisor/supervisor#1182")
def test_end_of_any_significant_child_by_itself_ends_the_supervisor(
    lab: Lab, restart: Any, reason: Reason, *, ends: bool
) -> None:
    started(lab, lab.worker("a"), significant(lab, "s", restart), lab.worker("z"), auto_shutdown="any_significant")
    lab.end("s", reason)
    assert lab.trace() == f"-s({short(reason)}) " + ("-z(shutdown) -a(shutdown) SUP(shutdown)" if ends else "+s")


@pytest.mark.otp_case(144)
def test_significant_child_stopped_by_hand_ends_nothing(lab: Lab) -> None:
    sup = started(lab, significant(lab, "s"), lab.worker("a"), auto_shutdown="any_significant")
    sup.call(SUP.terminate_child, "s")
    assert lab.trace() == "-s(shutdown)"
    assert sup.is_alive()


@pytest.mark.otp_case(145)
def test_last_of_all_significant_children_ends_the_supervisor(lab: Lab) -> None:
    started(lab, significant(lab, "t"), lab.worker("a"), significant(lab, "u"), auto_shutdown="all_significant")
    lab.end("t", Normal())
    assert lab.trace() == "-t(normal)"
    lab.end("u", Normal())
    assert lab.trace() == "-u(normal) -a(shutdown) SUP(shutdown)"


@pytest.mark.otp_case(145)
def test_significant_child_stopped_by_hand_is_not_waited_for(lab: Lab) -> None:
    sup = started(lab, significant(lab, "t"), significant(lab, "u"), auto_shutdown="all_significant")
    sup.call(SUP.terminate_child, "u")
    lab.end("t", Normal())
    assert lab.trace() == "-u(shutdown) -t(normal) SUP(shutdown)"


def test_significant_child_whose_restart_is_being_tried_is_waited_for(lab: Lab) -> None:
    """The other one ends while the first try fails, before the second."""

    def meanwhile(start: int) -> None:
        if start == 2:
            lab.refs["t"].stop()

    other = lab.worker("u", "+!", at_start=meanwhile).opts(restart="transient", significant=True)
    sup = started(lab, significant(lab, "t"), other, auto_shutdown="all_significant")
    lab.end("u")
    assert lab.trace() == "-u(boom) -t(normal) !u +u"
    assert sup.is_alive()


def test_group_restart_of_a_significant_child_ends_nothing(lab: Lab) -> None:
    """Semantics 7.8."""
    sup = started(
        lab,
        lab.worker("a"),
        significant(lab, "s", "transient"),
        auto_shutdown="any_significant",
        strategy="one_for_all",
    )
    lab.kill("a")
    assert lab.trace() == "✝a -s(shutdown) +a +s"
    assert sup.is_alive()


@pytest.mark.otp_case(146)
def test_significant_where_it_means_nothing_is_refused(lab: Lab) -> None:
    with pytest.raises(StartError, match="a significant child is transient or temporary, under a supervisor"):
        lab.system.start(tree(significant(lab, "s")))
    sup = started(lab, lab.worker("a"))
    with pytest.raises(SpecError, match="lab/top/s: significant=True"):
        sup.call(SUP.start_child, significant(lab, "s"))
    any_significant = started(lab, id="any", auto_shutdown="any_significant")
    with pytest.raises(SpecError, match="lab/any/s: significant=True with restart='permanent'"):
        any_significant.call(SUP.start_child, significant(lab, "s", "permanent"))


@pytest.mark.otp_case(148)
@pytest.mark.parametrize(("is_significant", "ends"), [(True, True), (False, False)])
def test_shutdown_of_a_significant_supervisor_goes_on_upwards(lab: Lab, *, is_significant: bool, ends: bool) -> None:
    inner = tree(significant(lab, "c", "transient"), id="b", auto_shutdown="any_significant")
    inner = inner.opts(restart="transient", significant=is_significant)
    outer = started(lab, lab.worker("z"), inner, auto_shutdown="any_significant")
    lab.end("c", Normal())
    lab.settle()
    assert outer.is_alive() is not ends
    assert lab.trace() == "-c(normal)" + (" -z(shutdown) SUP(shutdown)" if ends else "")
