"""DynamicSupervisor: all children stop at once, each within its own time. OTP cases J and O 206."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.reason import Killed, RestartLimit, Shutdown
from otpy.errors import DeadlockError
from otpy.events import ChildUnstopped
from otpy.testing.recorder import Recorder
from support.lab import dynamic

if TYPE_CHECKING:
    from support.lab import Lab

DYN = otpy.DynamicSupervisor


@pytest.fixture
def sup(lab: Lab) -> otpy.Ref[Any]:
    return dynamic(lab)


@pytest.mark.otp_case(153)
@pytest.mark.report("D118", "Supervisor/supervisor#1254")
def test_children_stop_at_the_same_time(lab: Lab, sup: otpy.Ref[Any]) -> None:
    """Five children that take 300 ms each take 300 ms."""
    for ident in "abcde":
        sup.call(DYN.start_child, lab.worker(ident, at_stop=lambda: otpy.sleep(0.3)))
    sup.stop(Shutdown(), block=False)
    lab.clock.advance(0.29)
    assert sup.is_alive()
    lab.clock.advance(0.01)
    assert sup.reason == Shutdown()


@pytest.mark.otp_case(154)
def test_hung_children_are_killed_at_the_same_time(lab: Lab, sup: otpy.Ref[Any]) -> None:
    gate = lab.gate()
    hung = [sup.call(DYN.start_child, lab.worker(ident).opts(shutdown=0.2)) for ident in "ab"]
    for child in hung:
        child.cast(child.actor_class.do, gate.wait)
    gate.reached(2)
    sup.stop(Shutdown(), block=False)
    lab.clock.advance(0.2)
    assert sup.reason == Shutdown()
    assert [child.reason for child in hung] == [Killed(), Killed()]


@pytest.mark.otp_case(206)
def test_each_child_has_its_own_time_to_stop(lab: Lab, sup: otpy.Ref[Any]) -> None:
    gate = lab.gate()
    own: dict[str, Any] = {"endless": otpy.INFINITY, "brutal": otpy.BRUTAL_KILL, "short": 0.001, "long": 2.0}
    refs = {
        ident: sup.call(DYN.start_child, lab.worker(ident, at_stop=gate.wait).opts(shutdown=own[ident]))
        for ident in own
    }
    with Recorder(lab.system, ChildUnstopped) as recorder:
        sup.stop(Shutdown(), block=False)
        gate.reached(3)
        lab.clock.advance(0.001)
        assert refs["brutal"].reason == Killed()
        assert refs["short"].reason == Killed()
        assert refs["long"].is_alive()
        lab.clock.advance(1.999)
        assert refs["long"].reason == Killed()
        assert sup.is_alive()
        gate.open()
        lab.settle()
    assert refs["endless"].reason == Shutdown()
    assert sup.reason == Shutdown()
    assert sorted(event.path for event in recorder.of(ChildUnstopped)) == ["lab/dyn/3", "lab/dyn/4"]


def test_all_children_that_call_their_stopping_supervisor_are_refused_at_once(lab: Lab, sup: otpy.Ref[Any]) -> None:
    refusals: list[str] = []

    def ask() -> None:
        with pytest.raises(DeadlockError):
            sup.within(None).call(DYN.count_children)
        refusals.append("refused")

    for ident in "abc":
        sup.call(DYN.start_child, lab.worker(ident, at_stop=ask))
    sup.stop(Shutdown())
    assert refusals == ["refused"] * 3


@pytest.mark.report("A23", "ergo-services/ergo#213")
def test_giving_up_stops_all_that_are_left_at_the_same_time(lab: Lab) -> None:
    """Three that take a second each take one second together, and none is left."""
    sup = dynamic(lab, max_restarts=0)
    for ident in "abc":
        sup.call(DYN.start_child, lab.worker(ident, at_stop=lambda: otpy.sleep(1.0)))
    sup.call(DYN.start_child, lab.worker("bad"))
    lab.kill("bad")
    lab.clock.advance(0.99)
    assert sup.is_alive()
    lab.clock.advance(0.01)
    assert isinstance(sup.reason, Shutdown)
    assert isinstance(sup.reason.detail, RestartLimit)
    assert lab.system.alive == 0
