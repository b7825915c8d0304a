"""`system.suspend` and `resume`. OTP: sys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.core.reason import Exit, Killed, Shutdown
from otpy.errors import ActorBusyError, ChildStateError, NoSuchActorError
from support.lab import Asker, Worker, started, tree

if TYPE_CHECKING:
    from support.lab import Lab


def test_messages_wait_until_it_is_resumed(lab: Lab) -> None:
    """Semantics 11; suspending and resuming twice is no error."""
    done: list[int] = []
    lab.start(tree(lab.worker("a")))
    lab.system.suspend("lab/top/a")
    lab.system.suspend("lab/top/a")
    for number in range(3):
        lab.refs["a"].cast(Worker.do, lambda number=number: done.append(number))
    lab.settle()
    record = lab.system.record("lab/top/a")
    assert (record.status, record.queue, done) == ("suspended", 3, [])
    lab.system.resume("lab/top/a")
    lab.system.resume("lab/top/a")
    lab.settle()
    assert done == [0, 1, 2]
    assert lab.system.record("lab/top/a").status == "idle"


@pytest.mark.otp_case(185)
def test_kill_and_an_exit_signal_end_it(lab: Lab) -> None:
    """Decision 8: both take the fast lane."""
    for ident in ("a", "b"):
        ref = lab.system.start(lab.worker(ident, traps=False))
        lab.system.suspend(f"lab/{ident}")
        ref.kill() if ident == "a" else ref.exit(Exit("boom"))
        lab.settle()
        assert ref.reason == (Killed() if ident == "a" else Exit("boom"))


@pytest.mark.otp_case(185)
def test_what_a_supervisor_stops_ends_although_it_is_suspended(lab: Lab) -> None:
    """Both that which trapped the signal before it was suspended and after."""
    sup = started(lab, lab.worker("a"), tree(lab.worker("b"), id="sub"))
    for path in ("lab/top/a", "lab/top/sub", "lab/top/sub/b"):
        lab.system.suspend(path)
    lab.refs["a"].cast(Worker.crash, ValueError("never handled"))
    sup.stop(Shutdown(), block=False)
    assert lab.trace() == "-b(shutdown) -a(shutdown) SUP(shutdown)"


@pytest.mark.otp_case(185)
def test_an_order_that_came_before_the_suspension_is_obeyed(lab: Lab) -> None:
    sup = started(lab, lab.worker("a"))
    gate = lab.gate()
    lab.refs["a"].cast(Worker.do, gate.wait)
    gate.reached()
    lab.refs["a"].cast(Worker.do, lambda: lab.note("not handled"))
    sup.stop(Shutdown(), block=False)
    lab.settle()
    with pytest.raises(ActorBusyError):
        lab.system.suspend("lab/top/a", timeout=0.0)
    gate.open()
    assert lab.trace() == "-a(shutdown) SUP(shutdown)"


def test_a_suspended_tree_can_be_stopped(lab: Lab) -> None:
    sup = started(lab, *lab.workers("ab"))
    for path in ("lab/top", "lab/top/a"):
        lab.system.suspend(path)
    assert sup.stop(Shutdown(), timeout=5.0)
    assert lab.trace() == "-b(shutdown) -a(shutdown) SUP(shutdown)"


def test_an_exit_signal_of_a_stranger_waits(lab: Lab) -> None:
    ref = lab.system.start(lab.worker("a"))
    lab.system.suspend("lab/a")
    ref.exit(Exit("boom"))
    lab.settle()
    assert (ref.is_alive(), lab.system.record("lab/a").queue) == (True, 1)
    lab.system.resume("lab/a")


def test_a_supervisor_suspended_while_a_child_starts_obeys_when_that_is_done(lab: Lab) -> None:
    gate = lab.gate()
    sup = started(lab)
    asker = lab.system.start(otpy.child(Asker, sup, []))
    slow = lab.worker("a", at_start=lambda _: gate.wait()).opts(start_timeout=1000.0)
    asker.cast(Asker.ask, otpy.Supervisor.start_child, (slow,))
    gate.reached()
    lab.system.suspend("lab/top")
    sup.stop(Shutdown(), block=False)
    lab.settle()
    gate.open()
    assert lab.trace() == "+a -a(shutdown) SUP(shutdown)"


def test_it_is_resumed_by_itself(lab: Lab) -> None:
    lab.system.start(lab.worker("a"))
    lab.system.suspend("lab/a", seconds=10.0)
    lab.clock.advance(4.0)
    assert lab.system.record("lab/a").suspended == 4.0
    lab.clock.advance(6.0)
    assert (lab.system.record("lab/a").status, lab.system.record("lab/a").suspended) == ("idle", None)


@pytest.mark.parametrize("again", ["suspend", "resume"])
def test_a_later_word_ends_the_time_of_a_suspension(lab: Lab, again: str) -> None:
    lab.system.start(lab.worker("a"))
    lab.system.suspend("lab/a", seconds=10.0)
    getattr(lab.system, again)("lab/a")
    lab.clock.advance(5.0)
    lab.system.suspend("lab/a")
    lab.clock.advance(100.0)
    assert lab.system.record("lab/a").suspended == (105.0 if again == "suspend" else 100.0)


def test_a_time_that_ran_out_too_late_does_not_end_a_later_suspension(lab: Lab) -> None:
    """The timer has fired, and before its word comes to be heard somebody suspends the actor once more."""
    ref = lab.system.start(lab.worker("a"))
    lab.system.suspend("lab/a", seconds=10.0)
    timer = ref.extras().resumer
    assert timer is not None
    action, args = timer.action, timer.args
    lab.system.suspend("lab/a")

    assert action is not None
    action(*args)  # as the timer thread does that has just taken them
    lab.settle()

    assert lab.system.record("lab/a").status == "suspended"


def test_a_dead_child_of_a_suspended_supervisor_is_no_zombie(lab: Lab) -> None:
    started(lab, lab.worker("a"))
    lab.system.suspend("lab/top")
    lab.refs["a"].kill()
    lab.settle()
    assert lab.system.record("lab/top/a").status == "stopped"
    lab.system.resume("lab/top")


def test_its_status_is_stopping_while_it_terminates(lab: Lab) -> None:
    gate = lab.gate()
    sup = started(lab, lab.worker("a", at_stop=gate.wait))
    sup.stop(Shutdown(), block=False)
    gate.reached()
    assert [record.status for record in lab.system.records("lab/top")] == ["stopping", "stopping"]
    gate.open()
    assert lab.trace() == "-a(shutdown) SUP(shutdown)"


def test_busy_actor_is_waited_for(lab: Lab) -> None:
    gate = lab.gate()
    ref = lab.system.start(lab.worker("a"))
    ref.cast(Worker.do, gate.wait)
    gate.reached()
    lab.settle()  # it does wait there
    with pytest.raises(ActorBusyError, match=r"busy for 0\.0 s in cast do, at .*gate.py:\d+ in wait"):
        lab.system.suspend("lab/a", timeout=0.01)
    gate.open()
    lab.settle()
    assert lab.system.record("lab/a").status == "suspended"
    lab.system.resume("lab/a")


def test_nobody_there(lab: Lab) -> None:
    with pytest.raises(NoSuchActorError):
        lab.system.suspend("lab/nobody")
    with pytest.raises(NoSuchActorError):
        lab.system.resume("lab/nobody")


@pytest.mark.parametrize("verb", ["restart_child", "terminate_child"])
def test_orders_below_a_suspended_supervisor_are_refused_at_once(lab: Lab, verb: str) -> None:
    """Whoever gave one would wait until somebody resumes it, and not know for whom."""
    started(lab, lab.worker("a"))
    lab.system.suspend("lab/top")
    with pytest.raises(ChildStateError, match=r"lab/top is suspended: .* otpy resume lab/top"):
        getattr(lab.system, verb)("lab/top/a")
    lab.system.resume("lab/top")
    assert lab.trace() == ""
    getattr(lab.system, verb)("lab/top/a")
    assert lab.trace().startswith("-a(shutdown)")
