"""Drains that users play in their own tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.testing import Gate, Late, VirtualSystem, drained, rehearse_drain
from support.doer import Doer
from support.systems import quiet

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["quiet"]

pytest_plugins = ["pytester"]


class Sender(otpy.GenServer):
    """Has so much in flight when it is to end, and takes so long for that and for its end."""

    trap_exit = True

    def init(self, in_flight: float, end: float = 0.0) -> None:
        self.in_flight, self.end = in_flight, end

    def handle_drain(self, drain: otpy.Drain) -> otpy.NoReply:
        drain.working(2, ["a", "b"])
        self.send_after(self.in_flight, drain)
        return otpy.NoReply()

    def handle_info(self, message: Any) -> None:
        message.done()

    def terminate(self, reason: otpy.Reason) -> None:
        if self.end:
            otpy.sleep(self.end)


def tree(*specs: otpy.ChildSpec) -> otpy.ChildSpec:
    class Tree(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [spec.opts(id=f"{place}") for place, spec in enumerate(specs)]

    return otpy.child(Tree)


@pytest.fixture
def system() -> VirtualSystem:
    return VirtualSystem("t")


def test_a_drain_takes_the_time_that_work_and_ends_take(system: VirtualSystem) -> None:
    system.start_root(tree(otpy.child(Sender, 4.0, 2.0), otpy.child(Sender, 1.0, 3.0)))
    report = drained(system)
    assert report.is_clean, report
    assert 4.0 <= report.took["drain"] < 4.1
    assert 5.0 <= report.took["release"] < 5.2
    assert 9.0 <= report.seconds < 9.3
    assert system.stopped


def test_the_last_answer_is_heard_also_before_who_began_the_drain_goes_on(
    system: VirtualSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was told to nobody then, and the drain went on with the next tick only."""
    start = system.start_soon

    def start_late(spec: otpy.ChildSpec) -> otpy.Ref[Any]:
        ref = start(spec)
        system.wait_idle()
        return ref

    system.start_root(tree(otpy.child(Sender, 4.0)))
    monkeypatch.setattr(system, "start_soon", start_late)
    report = drained(system)
    assert report.is_clean, report
    assert report.took["quiesce"] == 0.0
    assert report.took["drain"] == pytest.approx(4.0)


def test_who_rests_takes_no_time(system: VirtualSystem) -> None:
    system.start_root(tree(otpy.child(Doer), otpy.child(otpy.sleep, 1e9)))
    assert drained(system).seconds < 0.1


def test_who_is_late_is_named_with_what_it_has_in_flight(system: VirtualSystem) -> None:
    system.start_root(tree(otpy.child(Sender, 100.0)))
    report = drained(system, within=10.0)
    assert not report.is_clean
    (late,) = report.late
    assert late.startswith("t/0: late in drain: 2 in flight: a, b; ")
    assert 6.0 <= report.took["drain"] < 6.1


def test_what_does_not_end_is_killed_and_told(system: VirtualSystem) -> None:
    system.start_root(tree(otpy.child(Sender, 0.0, 100.0).opts(shutdown=100.0)))
    report = drained(system, within=10.0)
    assert report.late == ()
    assert len(report.undone) == 1
    assert report.undone[0].startswith("t/0 did not stop: ")
    assert report.seconds == 10.0


def test_actors_without_a_supervisor_are_drained_as_well(system: VirtualSystem) -> None:
    system.start(Sender, 3.0)
    system.start_root(tree(otpy.child(Doer)))
    assert 3.0 <= drained(system).seconds < 3.2


def test_a_rehearsal_stops_nothing(system: VirtualSystem) -> None:
    with Gate() as gate:
        ref = system.start(otpy.child(Doer).opts(id="a"))
        ref.cast(Doer.run, held(gate))
        gate.reached()
        system.clock.advance(20.0)
        found = rehearse_drain(system)
        assert found.is_late
        (late,) = found.late
        assert isinstance(late, Late)
        assert (late.path, late.by) == ("t/a", 5.0)
        assert not rehearse_drain(system, within=100.0).is_late
        gate.open()
        system.wait_idle()
        assert not rehearse_drain(system, "t/a").is_late
    assert drained(system).is_clean


def held(gate: Gate) -> Callable[[Doer], None]:
    return lambda _: gate.wait()


def test_a_fixture_fails_the_test_whose_system_is_late(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import otpy

        class Slow(otpy.GenServer):
            def handle_drain(self, drain):
                return otpy.NoReply()

        def test_slow(drained_system):
            drained_system.start(otpy.child(Slow).opts(id="slow"))

        def test_quick(drained_system):
            drained_system.start(otpy.GenServer)

        def test_done(drained_system):
            drained_system.stop()
    """)
    result = pytester.runpytest_inprocess("-q", "-p", "no:otpy", "-p", "otpy.testing.plugin", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*the system did not drain in time:*", "*test/slow: late in drain: *"])
