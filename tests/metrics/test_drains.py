"""What is counted when a program, or a part of it, is told to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import otpy
from otpy.drain.begin import begin
from otpy.events import JobsDrained
from otpy.metrics import Metrics
from support.prometheus import figure, figures

if TYPE_CHECKING:
    from otpy.testing import VirtualClock


class Busy(otpy.GenServer):
    """Is not done before it is told to be, when it drains."""

    def init(self) -> None:
        self.drain: otpy.Drain | None = None

    def handle_drain(self, drain: otpy.Drain) -> otpy.NoReply:
        self.drain = drain
        return otpy.NoReply()

    @otpy.call
    def finish(self) -> None:
        assert self.drain is not None
        self.drain.done()


BUSY = otpy.Name("busy", Busy)


class Tree(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Busy).opts(id="busy", name=BUSY)]


def test_a_drain_is_counted_and_timed(timed: otpy.System, clock: VirtualClock) -> None:
    metrics = Metrics(timed)
    timed.start_root(otpy.child(Tree))
    busy = timed.whereis(BUSY)
    assert busy is not None
    begin(timed, "otpy drain by uid 0 pid 1", 10.0, path="t/busy")
    timed.wait_idle()
    assert figure(metrics, "otpy_drain_in_progress") == 1

    clock.advance(2.0)
    busy.call(Busy.finish)
    clock.advance(1.0)

    assert figure(metrics, "otpy_drain_in_progress") == 0
    assert figures(metrics, "otpy_drain_started_total") == {("drain",): 1}
    assert 2.0 <= figure(metrics, "otpy_drain_seconds").total <= 3.0
    assert set(figures(metrics, "otpy_drain_deadline_exceeded_total").values()) == {0}


def test_who_is_late_is_counted_by_phase(timed: otpy.System, clock: VirtualClock) -> None:
    metrics = Metrics(timed)
    timed.start_root(otpy.child(Busy))

    begin(timed, "somebody", 10.0)
    clock.advance(20.0)

    assert figures(metrics, "otpy_drain_started_total") == {("other",): 1}
    assert figure(metrics, "otpy_drain_deadline_exceeded_total", "drain") == 1


def test_what_becomes_of_jobs_is_counted(timed: otpy.System) -> None:
    metrics = Metrics(timed)

    timed.events.emit(JobsDrained(path="t/jobs/scheduler", finished=3, released=2, checkpointed=1, left=(7,)))

    found = {outcome: number for (outcome,), number in figures(metrics, "otpy_drain_jobs_total").items()}
    assert found == {"finished": 3, "released": 2, "checkpointed": 1, "left": 1}
