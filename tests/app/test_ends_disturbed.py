"""Programs whose end is disturbed: told in the middle of their start, or disturbed by the death of who drains."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.app.application import Application
from otpy.app.settings import Settings
from otpy.drain.plan import Phase
from otpy.errors import StartError
from otpy.events import DrainBegun, DrainPhase
from otpy.runtime.death import kill
from otpy.testing import Gate

if TYPE_CHECKING:
    from otpy.events import Event

NOTES: list[str] = []


class Agent(otpy.GenServer):
    """Notes what it is asked."""

    def handle_drain(self, drain: otpy.Drain) -> None:
        NOTES.append(drain.reason)

    @otpy.cast
    def hold(self, gate: Gate) -> None:
        gate.wait()


class Slow(otpy.GenServer):
    """Has the program told to stop, and starts when it may."""

    def init(self, gate: Gate) -> None:
        self.system.request_stop("SIGTERM")  # type: ignore[attr-defined]  # it is an Application
        gate.wait()


class Starting(otpy.Supervisor):
    """One that starts when it may, and one with hooks after it."""

    def init(self, gate: Gate) -> None:
        self.gate = gate

    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Slow, self.gate), otpy.child(Agent)]


def test_a_tree_at_rest_in_the_middle_of_its_start_is_drained_when_all_are_there() -> None:
    NOTES.clear()
    gate = Gate()

    def on_event(event: Event) -> None:
        if isinstance(event, DrainPhase):
            gate.open()

    with otpy.run(Starting, gate, control="off", on_event=on_event) as system:
        system.wait()
    assert NOTES == ["SIGTERM"]
    assert system.undone == ()


def test_a_program_that_is_told_to_stop_before_it_has_a_root_asks_its_tree_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    NOTES.clear()

    def told(_: object, system: Application) -> None:
        assert not system.request_drain(reason="early").has_ended()

    monkeypatch.setattr(Settings, "open_states", told)
    with otpy.run(Agent, control="off") as system:
        system.wait()
    assert NOTES == ["early"]
    assert system.undone == ()


def test_a_start_that_hangs_ends_within_the_time_of_whoever_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    stops: list[float] = []
    stop = Application.stop

    def noted(self: Application, reason: Any = None, *, timeout: float) -> Any:
        stops.append(timeout)
        return stop(self, reason, timeout=timeout)

    monkeypatch.setattr(Application, "stop", noted)

    class Hangs(otpy.GenServer):
        def init(self) -> None:
            self.system.request_stop("otpy stop", within=0.2)  # type: ignore[attr-defined]  # it is an Application
            otpy.sleep(math.inf)

    with pytest.raises(StartError), otpy.run(Hangs, control="off", shutdown=3_600.0):
        pass
    assert [timeout < 0.2 for timeout in stops] == [True]


def test_a_drain_whose_own_actor_is_killed_goes_on_when_the_block_is_left() -> None:
    with otpy.run(Agent, control="off") as system, Gate() as gate:
        agent = system.find("agent")
        assert agent is not None
        agent.cast(Agent.hold, gate)
        gate.reached()
        course = system.begin_drain("by hand")  # asks for no stop, which would have it go on at once
        assert course.ref is not None
        kill(course.ref)
        course.ref.monitor().wait()
        assert course.is_lost()
        gate.open()
    assert course.phase is Phase.EXIT
    assert system.undone == ()


def test_a_drain_whose_own_actor_is_killed_in_the_end_is_left() -> None:
    gate = Gate()

    def kill_it() -> None:
        course = system.drains.courses[None]  # not asked for: who asks has a drain go on that was killed
        course.begun.wait()
        assert course.ref is not None
        kill(course.ref)
        course.ref.monitor().wait()
        gate.open()

    def on_event(event: Event) -> None:
        if isinstance(event, DrainBegun):
            threading.Thread(target=kill_it).start()

    with otpy.run(Agent, control="off", on_event=on_event) as system:
        agent = system.find("agent")
        assert agent is not None
        agent.cast(Agent.hold, gate)
        gate.reached()
    assert system.undone == ("it was cut short in quiesce: who drains it has ended: killed",)


class Lingers(otpy.GenServer):
    """Takes for its end as long as nobody kills it, and has the program told meanwhile to be quicker."""

    trap_exit = True

    def terminate(self, _: object) -> None:
        assert isinstance(self.system, Application)
        self.system.request_drain(self.ref.path if PARTLY in self.system.name else None, within=0.1)
        otpy.sleep(math.inf)


PARTLY = "part"


@pytest.mark.parametrize("name", ["whole", PARTLY])
def test_the_earlier_deadline_holds_also_while_all_is_being_stopped(name: str) -> None:
    class Tree(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(Lingers).opts(id="lingers", shutdown=3_600.0)]

    with otpy.run(Tree, name=name, control="off", shutdown=3_600.0) as system:
        if name == PARTLY:
            course = system.request_drain("part/lingers")
            assert course.over.wait(10.0)
            assert [line.partition(" did")[0] for line in course.undone] == ["part/lingers"]
    if name == "whole":
        assert [line.partition(" did")[0] for line in system.undone] == ["whole/lingers"]
