"""Supervisor: escalation, and the end of significant children. OTP cases I."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.reason import Normal, Reason, Shutdown
from otpy.errors import SpecError, StartError
from support.lab import BOOM, short, started, states, tree

if TYPE_CHECKING:
    from support.lab import Lab

SUP = otpy.Supervisor


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
