"""What is drained in a roll, and what a drain does to a roll."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.drain.begin import begin
from otpy.drain.roll_desk import Rolls
from otpy.drain.roll_plan import RollLook, Terms
from otpy.errors import ChildStateError
from otpy.events import DrainEnded, RollEnded, RollStep, RollStopped
from otpy.testing import Recorder, VirtualSystem
from support.states import started

if TYPE_CHECKING:
    from pathlib import Path

    from otpy.testing import VirtualClock


class Agent(otpy.GenServer):
    """Counts, and keeps its count; with something in flight it waits for the end of that."""

    def init(self, busy: float = 0.0) -> None:
        self.busy = busy
        self.count = 0 if self.restored is None else self.restored.data["count"]

    def handle_drain(self, drain: otpy.Drain) -> object:
        if not self.busy:
            return None
        drain.working(1, ["a reading"])
        self.send_after(self.busy, drain)
        return otpy.NoReply()

    def handle_info(self, message: Any) -> None:
        message.done()

    def persist(self) -> dict[str, Any]:
        return {"count": self.count}

    @otpy.call
    def add(self) -> int:
        self.count += 1
        return self.count


class Fleet(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        return [
            otpy.child(Agent, busy=3.0).opts(id="a", name="a"),
            otpy.dynamic(Agent).opts(id="many", name="many"),
        ]


def begin_roll(system: otpy.System, path: str, **words: Any) -> Rolls:
    rolls = Rolls.of(system)
    rolls.begin(Terms(path=path, healthy_after=1.0, **words), "a test")
    return rolls


def look(system: otpy.System, path: str) -> RollLook:
    found = Rolls.of(system).look(path)
    assert found is not None
    return found


def test_each_is_drained_and_the_next_incarnation_is_given_its_state(tmp_path: Path) -> None:
    with started(tmp_path / "shop.state") as system:
        system.start_root(otpy.child(Fleet))
        one = system.ref(otpy.name(Agent, "a"))
        other = system.ref(otpy.name(otpy.DynamicSupervisor, "many")).call(otpy.DynamicSupervisor.start_with)
        assert other is not None
        for _ in range(3):
            one.call(Agent.add)
        other.call(Agent.add)
        with Recorder(system, RollStep, DrainEnded, RollEnded) as seen:
            begin_roll(system, "shop", workers=True, within=10.0)
            system.clock.advance(20.0)
        assert [(event.path, event.step, event.detail) for event in seen.of(RollStep)] == [
            (path, step, "") for path in ("shop/a", "shop/many/1") for step in ("drained", "started", "healthy")
        ]
        first, _ = seen.of(DrainEnded)
        assert (first.path, first.reason, first.undone) == ("shop/a", "otpy roll", ())
        assert 3.0 <= first.seconds < 3.2
        assert one.call(Agent.add) == 4
        again = system.find("shop/many/1")
        assert again is not None
        assert again is not other
        assert again.call(Agent.add) == 2


def test_what_a_drain_has_left_undone_is_told(timed: otpy.System, clock: VirtualClock) -> None:
    timed.start_root(otpy.child(Fleet))
    with Recorder(timed, RollStep) as seen:
        begin_roll(timed, "t", within=4.0)
        clock.advance(2.0)
        assert [(path, state) for path, state, _ in look(timed, "t").active] == [("t/a", "draining")]
        clock.advance(10.0)
    late = next(event for event in seen.of(RollStep) if event.path == "t/a" and event.step == "drained")
    assert 2.4 <= late.seconds < 2.6  # three fifths of its time: the roll goes on all the same
    assert look(timed, "t").state == "done"


def test_the_drain_of_the_program_ends_a_roll(timed: otpy.System, clock: VirtualClock) -> None:
    timed.start_root(otpy.child(Fleet))
    before = timed.record("t/a").number
    with Recorder(timed, RollStopped) as seen:
        begin_roll(timed, "t")
        clock.advance(1.0)
        begin(timed, "a test", 30.0)
        clock.advance(10.0)
    assert timed.record("t/a").number == before  # it has drained, and nobody starts it again
    (stopped,) = seen.of(RollStopped)
    assert stopped.why == "the program, or the part of it with these children, drains"
    with pytest.raises(ChildStateError, match="t is draining"):
        begin_roll(timed, "t")


def test_who_is_drained_by_somebody_else_is_left_out(timed: otpy.System, clock: VirtualClock) -> None:
    timed.start_root(otpy.child(Fleet))
    begin(timed, "a test", 30.0, path="t/a")
    with Recorder(timed, RollStep) as seen:
        begin_roll(timed, "t")
        clock.advance(20.0)
    assert [event.step for event in seen.of(RollStep) if event.path == "t/a"] == ["left out"]
    assert timed.record("t/a").status == "stopped"


def test_a_child_that_does_not_stop_in_its_time_is_killed_and_that_is_told() -> None:
    class Stays(otpy.GenServer):
        trap_exit = True

        def terminate(self, reason: otpy.Reason) -> None:
            otpy.sleep(1_000.0)

    class Tree(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(Stays).opts(id="a", shutdown=1_000.0)]

    system = VirtualSystem("t")
    system.start_root(otpy.child(Tree))
    with Recorder(system, DrainEnded, RollEnded) as seen:
        begin_roll(system, "t", within=5.0)
        system.clock.advance(30.0)
    assert [event.undone for event in seen.of(DrainEnded)] == [("t/a: it did not stop in its time",)]
    assert len(seen.of(RollEnded)) == 1
    system.kill("t")
    system.clock.advance(2_000.0)
    system.stop()
