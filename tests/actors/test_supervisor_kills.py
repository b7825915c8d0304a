"""Supervisor: kills, start timeouts, and what a dead supervisor leaves behind."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.reason import Crashed, Killed, Shutdown, TimedOut
from otpy.errors import StartError, StartTimeoutError
from otpy.events import ActorCrashed
from otpy.testing.recorder import Recorder
from support.lab import started, states, tree

if TYPE_CHECKING:
    from support.lab import Lab

SUP = otpy.Supervisor


def at(lab: Lab, path: str) -> otpy.Ref[Any]:
    ref = lab.system.find(path)
    assert ref is not None
    return ref


@pytest.mark.otp_case(40)
@pytest.mark.parametrize("options", [{}, {"place": "thread"}], ids=str)
@pytest.mark.report("A44", "basiltt/xstate-statemachine#181", "basiltt/xstate-statemachine#194")
def test_hung_init_is_killed_after_its_start_timeout(lab: Lab, options: dict[str, Any]) -> None:
    """The first of five children that take 3 s fails after 0.2 s, and no other starts."""
    gate = lab.gate()
    hung = [
        lab.worker(ident, at_start=lambda _: gate.wait()).opts(start_timeout=0.2, name=ident, **options)
        for ident in "abcde"
    ]
    failures: list[StartError] = []
    starter = threading.Thread(target=lambda: failures.append(start_error(lab, tree(*hung))))
    starter.start()
    gate.reached()
    lab.clock.advance(0.19)
    assert failures == []
    lab.clock.advance(0.01)
    starter.join()
    assert failures[0].reason == Shutdown(otpy.core.reason.FailedChild("a", TimedOut()))
    assert lab.starts == {"a": 1}
    assert lab.system.names == {}
    assert [zombie.path for zombie in lab.system.zombies()] == ["lab/top/a"]
    gate.open()
    lab.settle()
    assert lab.system.zombies() == []


def start_error(lab: Lab, spec: otpy.ChildSpec) -> StartError:
    with pytest.raises(StartError) as caught:
        lab.system.start(spec)
    return caught.value


def test_start_child_with_a_hung_init_leaves_the_caller_and_the_others_alive(lab: Lab) -> None:
    gate = lab.gate()
    sup = started(lab, lab.worker("a"))
    errors: list[StartError] = []

    def start() -> None:
        hung = lab.worker("h", at_start=lambda _: gate.wait()).opts(start_timeout=1.0)
        with pytest.raises(StartTimeoutError) as caught:
            sup.within(None).call(SUP.start_child, hung)
        errors.append(caught.value)

    lab.refs["a"].cast(lab.refs["a"].actor_class.do, start)
    gate.reached()
    lab.clock.advance(1.0)
    assert len(errors) == 1
    assert "lab/top/h did not start: its init took longer than 1 s and was killed" in str(errors[0])
    assert states(sup) == {"a": "running"}


def test_start_in_time_leaves_no_timer(lab: Lab) -> None:
    started(lab, lab.worker("a").opts(start_timeout=3_600.0))
    assert lab.system.timers.next_due() is None


def test_nested_supervisor_that_starts_too_slowly_is_killed_with_its_children(lab: Lab) -> None:
    gate = lab.gate()
    inner = tree(lab.worker("a"), lab.worker("b", at_start=lambda _: gate.wait()), id="inner").opts(start_timeout=1.0)
    failures: list[StartError] = []
    starter = threading.Thread(target=lambda: failures.append(start_error(lab, tree(lab.worker("z"), inner))))
    starter.start()
    gate.reached()
    lab.clock.advance(1.0)
    assert lab.trace() == "+z +a -a(killed)"
    gate.open()
    starter.join()
    assert isinstance(failures[0].reason, Shutdown)
    assert lab.trace() == "+b -b(killed) -z(shutdown)"
    assert lab.system.alive == 0


@pytest.mark.parametrize("inits", [1, 2])
def test_supervisor_killed_while_a_child_starts_starts_no_other(lab: Lab, inits: int) -> None:
    """Its thread is still in the child's init; what it does after that is fenced."""
    gate = lab.gate()
    held = [lab.worker(f"h{number}", at_start=lambda _: gate.wait()) for number in range(inits)]
    errors: list[StartError] = []
    starter = threading.Thread(target=lambda: errors.append(start_error(lab, tree(*held, lab.worker("z")))))
    starter.start()
    gate.reached()
    at(lab, "lab/top").kill()
    starter.join()
    assert errors[0].reason == Killed()
    gate.open()
    lab.settle()
    assert set(lab.starts) == {"h0"}
    assert lab.system.alive == 0
    assert lab.system.zombies() == []


@pytest.mark.parametrize("moment", ["init", "terminate", "message"])
@pytest.mark.report("A41", "sasa1977/elixir-in-action#23")
def test_killed_supervisor_is_restarted_when_nobody_of_its_old_tree_is_left(lab: Lab, moment: str) -> None:
    """The names of the dead tree are free before the restart.

    OTP does not wait: a restart may meet the names of children that still run their terminate.
    """
    gate = lab.gate()

    def hold(at_moment: str) -> None:
        if at_moment == moment:
            gate.wait()

    slow = lab.worker("s", at_stop=lambda: hold("terminate")).opts(name="s")
    inner = tree(lab.worker("q").opts(name="q"), slow, id="inner").opts(name="inner")
    sup = started(lab, inner, max_restarts=1)
    old = lab.refs["s"]
    if moment == "message":
        old.cast(old.actor_class.do, gate.wait)
    elif moment == "init":
        asker = lab.system.start(lab.worker("asker"))
        new = lab.worker("new", at_start=lambda _: hold("init")).opts(name="new")
        asker.cast(asker.actor_class.do, lambda: start_error_of_kill(at(lab, "lab/top/inner"), new))
    if moment != "terminate":
        gate.reached()
    lab.trace()
    at(lab, "lab/top/inner").kill()
    gate.reached()
    lab.settle()
    assert lab.starts["q"] == 1
    gate.open()
    lab.settle()
    assert lab.starts["q"] == 2
    assert sup.is_alive()
    assert lab.system.whereis("s") is lab.refs["s"]
    assert lab.system.whereis("s") is not old
    assert lab.system.whereis("inner") is at(lab, "lab/top/inner")


def start_error_of_kill(sup: otpy.Ref[Any], spec: otpy.ChildSpec) -> None:
    with pytest.raises(otpy.OtpyError):
        sup.within(None).call(SUP.start_child, spec)


def test_orphan_that_does_not_end_is_killed_after_five_seconds(lab: Lab) -> None:
    gate = lab.gate()
    inner = tree(lab.worker("s", traps=False).opts(name="s"), id="inner")
    started(lab, inner, max_restarts=1)
    stuck = lab.refs["s"]
    stuck.cast(stuck.actor_class.do, gate.wait)
    gate.reached()
    at(lab, "lab/top/inner").kill()
    lab.clock.advance(4.99)
    assert stuck.is_alive()
    lab.clock.advance(0.01)
    lab.settle()
    assert stuck.reason == Killed()
    assert lab.system.whereis("s") is lab.refs["s"]
    assert lab.refs["s"] is not stuck


def test_tree_below_a_killed_supervisor_ends_in_order(lab: Lab) -> None:
    """Nested orphans stop their own children as ever, and are waited for."""
    low = tree(*lab.workers("xy"), id="low")
    sup = started(lab, tree(low, id="mid"), max_restarts=1)
    at(lab, "lab/top/mid").kill()
    assert lab.trace() == "-y(shutdown) -x(shutdown) +x +y"
    assert sup.is_alive()


def test_nested_supervisor_that_outlives_its_shutdown_is_killed_with_its_tree(lab: Lab) -> None:
    gate = lab.gate()
    inner = tree(lab.worker("a"), lab.worker("s", at_stop=gate.wait).opts(shutdown=60.0), id="inner")
    sup = started(lab, inner.opts(shutdown=1.0))
    sup.stop(Shutdown(), block=False)
    gate.reached()
    lab.clock.advance(1.0)
    assert lab.trace() == "-a(killed)"
    lab.clock.advance(5.0)
    assert lab.trace() == "SUP(shutdown)"
    assert lab.system.alive == 0


def test_deadline_of_a_child_holds_also_when_its_supervisor_is_killed(lab: Lab) -> None:
    gate = lab.gate()
    sup = started(lab, lab.worker("a", at_stop=gate.wait).opts(shutdown=1.0, name="a"))
    sup.stop(Shutdown(), block=False)
    gate.reached()
    sup.kill()
    lab.clock.advance(1.0)
    assert lab.refs["a"].reason == Killed()
    assert lab.system.whereis("a") is None


def test_root_that_is_killed_leaves_nobody_behind_a_stopped_system() -> None:
    ends: list[str] = []

    class Last(otpy.GenServer):
        trap_exit = True

        def terminate(self, reason: otpy.Reason) -> None:
            ends.append(str(reason))

    system = otpy.System("lab")
    root = system.start_root(tree(otpy.child(Last)))
    root.kill()
    left = system.stop(timeout=30.0)
    assert ends == ["killed"]
    assert left == []
    assert system.alive == 0


@pytest.mark.report("A26", "pathosDev/actor-ts#914")
def test_second_incarnation_that_fails_in_its_constructor_is_as_any_failed_start(lab: Lab) -> None:
    made: list[int] = []

    class Fragile(otpy.GenServer):
        def __init__(self) -> None:
            made.append(1)
            if len(made) == 2:
                raise ValueError("not again")

    sup = started(lab, otpy.child(Fragile).opts(id="f"))
    watcher = at(lab, "lab/top/f").monitor()
    at(lab, "lab/top/f").kill()
    lab.settle()
    assert watcher.wait().reason == Killed()
    assert len(made) == 3
    assert states(sup) == {"f": "running"}
    assert lab.system.zombies() == []


@pytest.mark.otp_case(230)
@pytest.mark.parametrize(
    "error", [SystemExit(0), SystemExit(3), KeyboardInterrupt(), BaseException("odd"), ValueError("boom")], ids=repr
)
@pytest.mark.report("A28", "pathosDev/actor-ts#916")
@pytest.mark.report("A38", "Tochemey/goakt#513")
@pytest.mark.report("D127", "ray-project/ray#65543")
def test_whatever_escapes_a_child_ends_that_child_alone(lab: Lab, error: BaseException) -> None:
    started(lab, *lab.workers("ab"))
    other = lab.refs["b"]
    with Recorder(lab.system, ActorCrashed) as recorder:
        for _ in range(3):
            lab.refs["a"].cast(lab.refs["a"].actor_class.crash, error)
            lab.settle()
    assert lab.starts == {"a": 4, "b": 1}
    assert lab.refs["b"] is other
    reports = recorder.of(ActorCrashed)
    assert len(reports) == 3
    assert all(isinstance(report.reason, Crashed) and report.reason.frames for report in reports)


def test_thread_that_cannot_be_had_fails_the_start_and_leaves_nothing(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    sup = started(lab, lab.worker("a"))

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(StartError, match="no thread could be started"):
            sup.call(SUP.start_child, lab.worker("t").opts(place="thread", name="t"))
    assert lab.system.whereis("t") is None
    assert lab.system.alive == 2
    assert states(sup) == {"a": "running"}


@pytest.mark.parametrize("reason", [Killed(), Shutdown(), otpy.Exit("boom")], ids=str)
@pytest.mark.report("A40", "zoedsoupe/anubis-mcp#241")
def test_helper_that_a_child_started_is_gone_before_the_child_starts_again(lab: Lab, reason: otpy.Reason) -> None:
    """The helper's name is free."""
    gate = lab.gate()

    class Boss(otpy.GenServer):
        def init(self) -> None:
            self.spawn_link(lab.worker("helper", at_stop=gate.wait).opts(name="helper"))

        @otpy.cast
        def end(self, why: otpy.Reason) -> object:
            return otpy.Stop(why)

    sup = started(lab, otpy.child(Boss).opts(id="boss"), lab.worker("a"), max_restarts=1)
    boss, helper = at(lab, "lab/top/boss"), lab.refs["helper"]
    assert helper.path == "lab/top/boss/helper"
    boss.kill() if reason == Killed() else boss.cast(Boss.end, reason)
    gate.reached()
    lab.settle()
    assert lab.starts["helper"] == 1
    gate.open()
    lab.settle()
    assert lab.starts["helper"] == 2
    assert lab.system.whereis("helper") is lab.refs["helper"]
    assert sup.is_alive()


def test_helper_that_outlives_a_normal_end_is_not_waited_for(lab: Lab) -> None:
    """Semantics 6.15: a normal exit harms nobody who does not trap exits."""

    class Boss(otpy.GenServer):
        def init(self) -> object:
            self.spawn_link(lab.worker(f"helper{self.ref.number}", traps=False))
            return None

    started(lab, otpy.child(Boss).opts(id="boss"))
    boss = at(lab, "lab/top/boss")
    helper = lab.refs[f"helper{boss.number}"]
    boss.stop()
    lab.settle()
    assert at(lab, "lab/top/boss") is not boss
    assert helper.is_alive()
