"""Supervisor: how children are stopped, and for how long they are waited for. OTP cases J."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.reason import Crashed, Exit, Killed, Normal, Reason, Shutdown
from otpy.errors import CallExitError
from otpy.events import ChildUnstopped, ZombieMade
from otpy.testing.recorder import Recorder
from support.lab import BOOM, Asker, Parent, started, tree

if TYPE_CHECKING:
    from support.lab import Lab

SUP = otpy.Supervisor


def stop(lab: Lab, sup: otpy.Ref[Any]) -> None:
    """Have it begin to stop."""
    sup.stop(Shutdown(), block=False)
    lab.settle()


@pytest.mark.otp_case(150)
@pytest.mark.parametrize("traps", [True, False], ids=["traps", "does not trap"])
@pytest.mark.report("A46", "linkdd/triotp")
def test_child_that_is_busy_too_long_is_killed_and_the_others_stop_well(lab: Lab, *, traps: bool) -> None:
    gate = lab.gate()
    sup = started(lab, lab.worker("a"), lab.worker("b", traps=traps).opts(shutdown=1.0))
    busy = lab.refs["b"]
    busy.cast(busy.actor_class.do, gate.wait)
    gate.reached()
    stop(lab, sup)
    with Recorder(lab.system, ChildUnstopped) as recorder:
        lab.clock.advance(0.99)
        assert busy.is_alive()
        lab.clock.advance(0.01)
        assert lab.trace() == "-a(shutdown) SUP(shutdown)"
    assert busy.reason == Killed()
    assert [(event.path, event.reason) for event in recorder.of(ChildUnstopped)] == [("lab/top/b", Killed())]
    assert [record.path for record in lab.system.zombies()] == ["lab/top/b"]
    gate.open()
    lab.settle()
    assert lab.system.zombies() == []
    assert lab.trace() == ""


@pytest.mark.otp_case(152)
def test_trapping_child_works_off_its_backlog_within_its_time(lab: Lab) -> None:
    """Ten jobs of 20 ms wait, 50 ms are given."""
    done: list[int] = []
    sup = started(lab, lab.worker("a").opts(shutdown=0.05))
    child = lab.refs["a"]
    gate = lab.gate()
    child.cast(child.actor_class.do, gate.wait)
    gate.reached()
    for number in range(10):
        child.cast(child.actor_class.do, lambda number=number: otpy.sleep(0.02) or done.append(number))
    gate.open()
    stop(lab, sup)
    lab.clock.advance(0.04)
    assert done == [0, 1]
    lab.clock.advance(0.01)
    assert child.reason == Killed()
    lab.clock.advance(1.0)
    assert done == [0, 1]


@pytest.mark.otp_case(30)
def test_trapping_child_ends_after_what_came_before_the_signal(lab: Lab) -> None:
    """Semantics 7.7 and 1.6."""
    done: list[str] = []
    sup = started(lab, lab.worker("a"))
    child = lab.refs["a"]
    gate = lab.gate()
    child.cast(child.actor_class.do, gate.wait)
    child.cast(child.actor_class.do, lambda: done.append("before"))
    stop(lab, sup)
    child.cast(child.actor_class.do, lambda: done.append("after"))
    gate.open()
    assert lab.trace() == "-a(shutdown) SUP(shutdown)"
    assert done == ["before"]


@pytest.mark.otp_case(60)
def test_child_that_does_not_trap_drops_its_backlog_and_ends_without_terminate(lab: Lab) -> None:
    """Semantics 1.6."""
    done: list[str] = []
    sup = started(lab, lab.worker("a", traps=False))
    child = lab.refs["a"]
    gate = lab.gate()
    child.cast(child.actor_class.do, gate.wait)
    child.cast(child.actor_class.do, lambda: done.append("before"))
    gate.reached()
    stop(lab, sup)
    gate.open()
    assert lab.trace() == "SUP(shutdown)"
    assert done == []
    assert child.reason == Shutdown()


@pytest.mark.otp_case(153)
@pytest.mark.report("D118", "Supervisor/supervisor#1254")
def test_children_of_a_supervisor_stop_one_after_another(lab: Lab) -> None:
    """Five children that take 300 ms each take 1.5 s."""
    sup = started(lab, *(lab.worker(ident, at_stop=lambda: otpy.sleep(0.3)) for ident in "abcde"))
    stop(lab, sup)
    lab.clock.advance(1.4)
    assert sup.is_alive()
    assert lab.trace() == "-e(shutdown) -d(shutdown) -c(shutdown) -b(shutdown)"
    lab.clock.advance(0.1)
    assert lab.trace() == "-a(shutdown) SUP(shutdown)"


@pytest.mark.otp_case(156)
def test_end_of_a_sibling_during_the_stop_restarts_nothing(lab: Lab) -> None:
    gate = lab.gate()
    sup = started(lab, *lab.workers("ab"), lab.worker("c", at_stop=gate.wait))
    stop(lab, sup)
    lab.kill("a")
    gate.open()
    assert lab.trace() == "✝a -c(shutdown) -b(shutdown) SUP(shutdown)"


@pytest.mark.otp_case(156)
@pytest.mark.parametrize("reason", [Normal(), Shutdown(), Shutdown("z"), BOOM], ids=str)
@pytest.mark.report("D110", "circus-tent/circus#529")
def test_child_that_ends_by_itself_during_the_stop_restarts_nothing(lab: Lab, reason: Reason) -> None:
    gate = lab.gate()
    sup = started(lab, lab.worker("a"), lab.worker("c", at_stop=gate.wait))
    stop(lab, sup)
    lab.end("a", reason)
    lab.settle()
    gate.open()
    lab.settle()
    assert "+a" not in lab.trace()
    assert sup.reason == Shutdown()


@pytest.mark.otp_case(85, 157)
def test_nested_supervisor_is_waited_for_without_end(lab: Lab) -> None:
    inner = tree(lab.worker("s", at_stop=lambda: otpy.sleep(2_000.0)).opts(shutdown=otpy.INFINITY), id="inner")
    sup = started(lab, lab.worker("a"), inner)
    stop(lab, sup)
    lab.clock.advance(1_999.0)
    assert sup.is_alive()
    lab.clock.advance(1.0)
    assert lab.trace() == "-s(shutdown) -a(shutdown) SUP(shutdown)"


@pytest.mark.otp_case(85)
def test_worker_has_five_seconds_unless_it_says_otherwise(lab: Lab) -> None:
    """Semantics 7.1."""
    gate = lab.gate()
    sup = started(lab, lab.worker("a", at_stop=gate.wait))
    stop(lab, sup)
    lab.clock.advance(4.99)
    assert sup.is_alive()
    lab.clock.advance(0.01)
    lab.settle()
    assert sup.reason == Shutdown()
    assert lab.refs["a"].reason == Killed()


def test_brutal_kill_asks_nobody(lab: Lab) -> None:
    """Semantics 7.7."""
    sup = started(lab, lab.worker("a").opts(shutdown=otpy.BRUTAL_KILL))
    with Recorder(lab.system, ChildUnstopped) as recorder:
        sup.stop(Shutdown())
        assert lab.trace() == "SUP(shutdown)"
    assert lab.refs["a"].reason == Killed()
    assert recorder.events == []


def test_shutdown_of_no_seconds_asks_and_kills_at_once(lab: Lab) -> None:
    """Semantics 7.7."""
    gate = lab.gate()
    sup = started(lab, lab.worker("a", traps=False).opts(shutdown=0), lab.worker("b", traps=False).opts(shutdown=0))
    busy = lab.refs["b"]
    busy.cast(busy.actor_class.do, gate.wait)
    gate.reached()
    sup.stop(Shutdown())
    assert lab.refs["a"].reason == Shutdown()
    assert busy.reason == Killed()


@pytest.mark.parametrize(
    ("restart", "reason", "is_reported"),
    [
        ("permanent", Shutdown(), False),
        ("permanent", Shutdown("z"), True),
        ("permanent", Normal(), True),
        ("transient", Shutdown("z"), False),
        ("transient", Normal(), False),
        ("temporary", Normal(), False),
        ("transient", Exit("other"), True),
    ],
)
def test_child_that_stops_otherwise_than_asked_is_reported(
    lab: Lab, restart: Any, reason: Reason, *, is_reported: bool
) -> None:
    """Semantics 7.7."""
    sup = started(lab, lab.worker("a", at_stop=lambda: otpy.exit(reason)).opts(restart=restart))
    with Recorder(lab.system, ChildUnstopped) as recorder:
        sup.stop(Shutdown())
    assert [event.reason for event in recorder.of(ChildUnstopped)] == ([reason] if is_reported else [])


def test_detail_that_cannot_be_compared_harms_nobody(lab: Lab) -> None:
    class Awkward:
        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            raise ValueError("not comparable")

    sup = started(lab, lab.worker("a", at_stop=lambda: otpy.exit(Shutdown(Awkward()))), lab.worker("b"))
    lab.end("b", Exit(Awkward()))
    lab.settle()
    sup.stop(Shutdown())
    assert lab.starts == {"a": 1, "b": 2}


@pytest.mark.report("A25", "asynkron/protoactor-go#214")
def test_terminate_that_raises_while_stopping_is_reported_and_restarts_nothing(lab: Lab) -> None:
    def fail() -> None:
        raise ValueError("in terminate")

    sup = started(lab, lab.worker("a"), lab.worker("b", at_stop=fail))
    with Recorder(lab.system, ChildUnstopped) as recorder:
        sup.call(SUP.terminate_child, "b")
    assert lab.trace() == ""
    assert [type(event.reason) for event in recorder.of(ChildUnstopped)] == [Crashed]
    assert sup.call(SUP.which_child, "b").state == "stopped"
    assert lab.starts["b"] == 1
    sup.call(SUP.restart_child, "b")
    assert lab.starts["b"] == 2


@pytest.mark.otp_case(231)
def test_replacement_gets_the_name_of_a_child_that_had_to_be_killed(lab: Lab) -> None:
    gate = lab.gate()
    spec = lab.worker("a").opts(shutdown=0.2, name="cache")
    sup = started(lab, spec)
    stuck = lab.refs["a"]
    stuck.cast(stuck.actor_class.do, gate.wait)
    gate.reached()
    with Recorder(lab.system, ZombieMade, ChildUnstopped) as recorder:
        lab.system.start(otpy.child(Renewer, sup, "a"))
        lab.settle()
        lab.clock.advance(0.2)
    assert [event.path for event in recorder.of(ZombieMade)] == ["lab/top/a"]
    assert [(event.path, event.reason) for event in recorder.of(ChildUnstopped)] == [("lab/top/a", Killed())]
    assert [record.path for record in lab.system.zombies()] == ["lab/top/a"]
    assert lab.system.whereis("cache") is lab.refs["a"]
    assert lab.refs["a"] is not stuck
    gate.open()
    lab.settle()
    assert lab.system.whereis("cache") is lab.refs["a"]


class Renewer(otpy.GenServer):
    """Stops a child and starts it again, in a turn of its own."""

    def init(self, sup: otpy.Ref[Any], ident: str) -> object:
        self.sup, self.ident = sup, ident
        return otpy.Continue()

    def handle_continue(self, term: object) -> None:
        self.sup.within(None).call(SUP.terminate_child, self.ident)
        self.sup.within(None).call(SUP.restart_child, self.ident)


def test_parents_exit_during_a_stop_of_one_child_is_obeyed_after_it(lab: Lab) -> None:
    gate = lab.gate()
    parent, sup = lab.start_under_parent(tree(lab.worker("a"), lab.worker("b", at_stop=gate.wait)))
    lab.trace()
    lab.system.start(otpy.child(Renewer, sup, "b"))
    gate.reached()
    parent.cast(Parent.send_exit, Shutdown())
    lab.settle()
    gate.open()
    assert lab.trace() == "-b(shutdown) -a(shutdown) SUP(shutdown)"


def test_stop_that_does_not_end_well_is_told_to_who_asked(lab: Lab) -> None:
    sup = started(lab, terminate=lambda _, __: otpy.exit(BOOM))
    with pytest.raises(CallExitError) as caught:
        sup.stop(Shutdown())
    assert caught.value.reason == BOOM


@pytest.mark.report("D95", "thejerf/suture#34")
def test_stop_right_after_a_child_was_terminated_takes_no_time(lab: Lab) -> None:
    """It comes while the child is being stopped; nobody is waited for twice, and nothing is reported as late."""
    gate = lab.gate()
    sup = started(lab, lab.worker("a"), lab.worker("b", at_stop=gate.wait))
    answers: list[Any] = []
    with Recorder(lab.system, ChildUnstopped) as recorder:
        lab.system.start(otpy.child(Asker, sup, answers)).cast(Asker.ask, SUP.terminate_child, ("b",))
        gate.reached()
        sup.stop(Shutdown(), block=False)
        gate.open()
        assert lab.trace() == "-b(shutdown) -a(shutdown) SUP(shutdown)"
    assert answers == [None]
    assert recorder.events == []
    assert lab.clock.now() == 0.0


@pytest.mark.report("D110", "circus-tent/circus#529")
@pytest.mark.parametrize("end", ["kill", "exit"])
def test_child_that_ends_otherwise_while_it_is_terminated_is_not_restarted(lab: Lab, end: str) -> None:
    gate = lab.gate()
    sup = started(lab, lab.worker("a", at_stop=lambda: gate.wait() or (end == "exit" and otpy.exit(BOOM))))
    answers: list[Any] = []
    lab.system.start(otpy.child(Asker, sup, answers)).cast(Asker.ask, SUP.terminate_child, ("a",))
    gate.reached()
    if end == "kill":
        lab.refs["a"].kill()
    gate.open()
    lab.settle()
    assert answers == [None]
    assert lab.starts["a"] == 1
    assert sup.call(SUP.which_child, "a").state == "stopped"
