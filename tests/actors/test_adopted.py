"""Existing pykka.ThreadingActor classes as children, unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pykka
import pytest

import otpy
from otpy.core.reason import Crashed, Exit, Killed, Shutdown
from otpy.errors import StartError
from otpy.events import ActorCrashed
from otpy.testing.recorder import Recorder
from support.lab import Worker, states, tree

if TYPE_CHECKING:
    from support.lab import Lab

SUP = otpy.Supervisor


class Counter(pykka.ThreadingActor):
    """As anybody writes one; it knows nothing of otpy."""

    def __init__(self, log: list[str], start: int = 0, *, hold: Any = None) -> None:
        super().__init__()
        self.log, self.total, self.hold = log, start, hold
        log.append("init")

    def on_start(self) -> None:
        self.log.append("on_start")

    def on_stop(self) -> None:
        self.log.append("on_stop")

    def on_failure(self, exception_type: Any, exception_value: Any, traceback: Any) -> None:
        self.log.append(f"on_failure {exception_type.__name__}")

    def on_receive(self, message: Any) -> Any:
        match message:
            case "total":
                return self.total
            case "hold":
                return self.hold.wait()
            case BaseException():
                raise message
        self.total += message
        return self.total

    def add(self, number: int) -> int:
        self.total += number
        return self.total


@pytest.fixture
def log() -> list[str]:
    return []


def started(lab: Lab, spec: otpy.ChildSpec, **flags: Any) -> otpy.Ref[Any]:
    return lab.start(tree(spec, **flags))


def counter(lab: Lab) -> otpy.Ref[Any]:
    ref = lab.system.find("lab/top/Counter")
    assert ref is not None
    return ref


def test_starts_with_its_arguments_and_serves_pykkas_ways(lab: Lab, log: list[str]) -> None:
    started(lab, otpy.child(Counter, log, 5))
    ref = counter(lab)
    ref.tell(1)
    assert ref.ask("total") == 6
    assert ref.ask(1, block=False).get(timeout=5.0) == 7
    assert ref.proxy().add(3).get(timeout=5.0) == 10
    assert ref.proxy().total.get(timeout=5.0) == 10
    assert ref.is_alive()
    assert log == ["init", "on_start"]


def test_never_enters_pykkas_registry(lab: Lab, log: list[str]) -> None:
    started(lab, otpy.child(Counter, log))
    assert pykka.ActorRegistry.get_all() == []


def test_is_shown_under_its_own_name(lab: Lab, log: list[str]) -> None:
    started(lab, otpy.child(Counter, log))
    record = lab.system.record("lab/top/Counter")
    assert (record.kind, record.type, record.place) == ("Counter", "worker", "thread")


@pytest.mark.otp_case(229)
def test_exception_while_it_answers_reaches_the_asker_and_restarts_it(lab: Lab, log: list[str]) -> None:
    """In pykka it lives on."""
    started(lab, otpy.child(Counter, log, 5))
    first = counter(lab)
    with pytest.raises(ValueError, match="boom"):
        first.ask(ValueError("boom"))
    lab.settle()
    assert not first.is_alive()
    assert counter(lab).ask("total") == 5
    assert log == ["init", "on_start", "on_failure ValueError", "init", "on_start"]


@pytest.mark.otp_case(230)
@pytest.mark.parametrize("error", [ValueError("boom"), SystemExit(1), KeyboardInterrupt()], ids=repr)
def test_exception_in_a_message_restarts_it_and_harms_nobody_else(
    lab: Lab, log: list[str], error: BaseException
) -> None:
    """On a SystemExit pykka stops every actor of the program."""
    bystander = lab.system.start(lab.worker("bystander"))
    started(lab, otpy.child(Counter, log))
    with Recorder(lab.system, ActorCrashed) as recorder:
        counter(lab).tell(error)
        lab.settle()
    assert [(event.path, event.kind) for event in recorder.of(ActorCrashed)] == [("lab/top/Counter", "Counter")]
    assert counter(lab).is_alive()
    assert bystander.is_alive()
    assert f"on_failure {type(error).__name__}" in log


@pytest.mark.parametrize("where", ["__init__", "on_start"])
def test_failure_in_its_start_is_the_failure_of_the_start(lab: Lab, where: str) -> None:
    """Semantics 16.1; pykka only logs it."""

    def fail(*_: object) -> None:
        raise ValueError("boom")

    broken = type("Broken", (pykka.ThreadingActor,), {where: fail})
    with pytest.raises(StartError) as caught:
        lab.system.start(otpy.child(broken))
    assert isinstance(caught.value.reason, Crashed)
    assert lab.system.alive == 0
    assert pykka.ActorRegistry.get_all() == []


def test_supervisor_stops_it_as_pykka_would(lab: Lab, log: list[str]) -> None:
    """After the messages it has, and with `on_stop`."""
    sup = started(lab, otpy.child(Counter, log, hold=(gate := lab.gate())))
    ref = counter(lab)
    ref.tell("hold")
    ref.tell(3)
    gate.reached()
    late = ref.ask("total", block=False)
    sup.stop(Shutdown(), block=False)
    gate.open()
    assert late.get(timeout=5.0) == 3
    assert ref.actor_stopped.wait(30.0)
    lab.settle()
    assert ref.reason == Shutdown()
    assert log == ["init", "on_start", "on_stop"]


@pytest.mark.parametrize(
    ("reason", "ends"), [(Shutdown(), True), (Exit("boom"), True), (otpy.Normal(), False)], ids=str
)
def test_exit_signal_of_another_ends_it_unless_it_is_normal(
    lab: Lab, log: list[str], reason: otpy.Reason, *, ends: bool
) -> None:
    ref = lab.system.start(otpy.child(Counter, log))
    other = lab.system.start(lab.worker("other"))
    other.call(Worker.ask_to_do, lambda _: ref.exit(reason))
    lab.settle()
    assert ref.reason == (reason if ends else None)


def test_own_stop_ends_it_and_calls_on_stop(lab: Lab, log: list[str]) -> None:
    sup = started(lab, otpy.child(Counter, log).opts(restart="transient"))
    counter(lab).stop()
    lab.settle()
    assert log == ["init", "on_start", "on_stop"]
    assert states(sup) == {"Counter": "stopped"}


def test_stop_from_within_ends_it(lab: Lab, log: list[str]) -> None:
    class Once(Counter):
        def on_receive(self, message: Any) -> Any:
            self.stop()
            return "done"

    sup = started(lab, otpy.child(Once, log).opts(id="Counter", restart="transient"))
    assert counter(lab).ask("x") == "done"
    lab.settle()
    assert states(sup) == {"Counter": "stopped"}
    assert log[-1] == "on_stop"


def test_stuck_one_is_killed_after_its_time(lab: Lab, log: list[str]) -> None:
    gate = lab.gate()
    sup = started(lab, otpy.child(Counter, log, hold=gate).opts(shutdown=1.0))
    ref = counter(lab)
    ref.tell("hold")
    gate.reached()
    sup.stop(Shutdown(), block=False)
    lab.clock.advance(1.0)
    assert ref.reason == Killed()
    assert sup.reason == Shutdown()
    gate.open()
    lab.settle()
    assert lab.system.zombies() == []


def test_otpys_own_actor_class_serves_pykkas_users(lab: Lab) -> None:
    """An `otpy.Actor` with pykka's hooks, on the pool."""
    log: list[str] = []

    class Own(otpy.Actor):
        def __init__(self, start: int) -> None:
            super().__init__()
            self.total = start

        def on_start(self) -> None:
            log.append("on_start")

        def on_stop(self) -> None:
            log.append("on_stop")

        def on_receive(self, message: Any) -> Any:
            self.total += message
            return self.total

    sup = started(lab, otpy.child(Own, 5).opts(id="Counter", restart="transient"))
    ref = counter(lab)
    assert ref.ask(2) == 7
    assert ref.proxy().total.get(timeout=5.0) == 7
    ref.stop()
    lab.settle()
    assert log == ["on_start", "on_stop"]
    assert states(sup) == {"Counter": "stopped"}
