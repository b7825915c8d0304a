"""Supervisor: start in order, roll back, stop in reverse. OTP cases D."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.reason import Exit, FailedChild, Normal, Reason, Shutdown
from otpy.errors import CallExitError, DeadlockError, IgnoredError, NameTakenError, StartError
from otpy.events import ChildTerminated, UnknownMessage
from otpy.testing.recorder import Recorder
from support.lab import BOOM, Parent, Worker, dynamic, ids, started, states, tree

if TYPE_CHECKING:
    from support.lab import Lab


@pytest.mark.otp_case(76)
@pytest.mark.report("A46", "linkdd/triotp")
@pytest.mark.report("B52", "jodal/pykka#47")
def test_children_start_in_order_and_stop_in_reverse(lab: Lab) -> None:
    parent, sup = lab.start_under_parent(tree(*lab.workers("abc")))
    assert lab.trace() == "+a +b +c"
    assert ids(sup) == "c b a"
    parent.cast(Parent.send_exit, Shutdown())
    assert lab.trace() == "-c(shutdown) -b(shutdown) -a(shutdown) SUP(shutdown)"


@pytest.mark.otp_case(77, 78)
@pytest.mark.parametrize("restart", ["permanent", "transient", "temporary"])
@pytest.mark.report("A16", "gleam-lang/otp#93")
def test_failed_start_stops_what_was_started_and_names_the_child(lab: Lab, restart: Any) -> None:
    a, b, c, d = lab.worker("a"), lab.worker("b"), lab.worker("c", "!").opts(restart=restart), lab.worker("d")
    with pytest.raises(StartError) as caught:
        lab.system.start(tree(a, b, c, d))
    assert caught.value.reason == Shutdown(FailedChild("c", BOOM))
    assert lab.trace() == "+a +b !c -b(shutdown) -a(shutdown)"
    assert lab.system.alive == 0
    assert str(caught.value) == "lab/top did not start: shutdown: child c did not start: exit: 'boom'"


def test_failed_start_of_a_nested_supervisor_rolls_back_the_outer_one(lab: Lab) -> None:
    inner = tree(lab.worker("i1"), lab.worker("i2", "!"), id="inner")
    with pytest.raises(StartError) as caught:
        lab.system.start(tree(lab.worker("a"), inner, lab.worker("z")))
    assert lab.trace() == "+a +i1 !i2 -i1(shutdown) -a(shutdown)"
    assert caught.value.reason == Shutdown(FailedChild("inner", Shutdown(FailedChild("i2", BOOM))))


@pytest.mark.otp_case(80)
def test_ignored_child_keeps_its_spec_unless_it_is_temporary(lab: Lab) -> None:
    sup = lab.start(tree(lab.worker("a", "~"), lab.worker("t", "~").opts(restart="temporary"), lab.worker("b")))
    assert lab.trace() == "~a ~t +b"
    assert states(sup) == {"a": "stopped", "b": "running"}
    counts = sup.call(otpy.Supervisor.count_children)
    assert (counts.specs, counts.active, counts.supervisors, counts.workers) == (2, 1, 0, 2)


@pytest.mark.otp_case(81)
@pytest.mark.parametrize(
    ("decision", "reason"),
    [(otpy.Ignore(), Normal()), (otpy.Stop(BOOM), BOOM), (otpy.Fail(BOOM), BOOM)],
    ids=str,
)
def test_supervisor_whose_init_decides_against_it_starts_nothing(lab: Lab, decision: object, reason: Reason) -> None:
    with pytest.raises(StartError) as caught:
        lab.system.start(tree(lab.worker("a"), init=lambda _: decision))
    assert caught.value.reason == reason
    assert isinstance(caught.value, IgnoredError) is isinstance(decision, otpy.Ignore)
    assert lab.trace() == ""


@pytest.mark.otp_case(81)
@pytest.mark.parametrize("junk", ["junk", 0, otpy.Continue("x"), otpy.Reply(1), []], ids=str)
def test_supervisor_whose_init_returns_junk_does_not_start(lab: Lab, junk: object) -> None:
    with pytest.raises(StartError, match="bad return value"):
        lab.system.start(tree(lab.worker("a"), init=lambda _: junk))
    assert lab.trace() == ""


@pytest.mark.otp_case(86)
def test_taken_name_of_a_supervisor_is_refused_with_its_holder(lab: Lab) -> None:
    first = lab.start(tree(id="first").opts(name="shop"))
    with pytest.raises(NameTakenError) as caught:
        lab.system.start(tree(lab.worker("a"), id="second").opts(name="shop"))
    assert caught.value.holder is first
    assert lab.trace() == ""


@pytest.mark.otp_case(88)
@pytest.mark.parametrize("reason", [Shutdown(), BOOM, Normal()], ids=str)
def test_exit_signal_of_a_stranger_is_ignored(lab: Lab, reason: Reason) -> None:
    sup = lab.start(tree(lab.worker("a")))
    stranger = lab.start(tree(lab.worker("s"), id="other"))
    lab.trace()
    sup.exit(reason)
    lab.refs["s"].call(lab.refs["s"].actor_class.ask_to_do, lambda _: sup.exit(reason))
    assert lab.trace() == ""
    assert sup.is_alive()
    assert stranger.is_alive()


@pytest.mark.otp_case(88)
@pytest.mark.parametrize("reason", [Shutdown(), BOOM, Normal()], ids=str)
@pytest.mark.parametrize("kind", ["supervisor", "dynamic"])
def test_exit_signal_of_a_child_that_lives_is_not_its_end(lab: Lab, kind: str, reason: Reason) -> None:
    """OTP takes it for that, and a second incarnation runs beside the first."""
    if kind == "supervisor":
        sup = started(lab, lab.worker("a"))
    else:
        sup = dynamic(lab)
        sup.call(otpy.DynamicSupervisor.start_child, lab.worker("a"))
        lab.trace()
    child = lab.refs["a"]
    child.call(Worker.ask_to_do, lambda _: sup.exit(reason))
    assert lab.trace() == ""
    with Recorder(lab.system, ChildTerminated) as recorder:
        child.cast(Worker.do, lambda: (sup.exit(reason), otpy.exit(Exit("bye"))))
        assert lab.trace() == "-a(bye) +a"
    assert [event.reason for event in recorder.of(ChildTerminated)] == [Exit("bye")]
    assert sup.is_alive()
    assert lab.system.alive == 2


def test_child_that_sent_another_reason_before_it_ended_is_judged_by_its_end(lab: Lab) -> None:
    """Found by an exploration: a transient one that crashed is restarted although it has said `normal`."""
    sup = lab.start(tree(lab.worker("a").opts(restart="transient")))
    a = lab.refs["a"]
    lab.trace()
    a.cast(a.actor_class.do, lambda: (sup.exit(Normal()), otpy.exit(BOOM)))
    assert lab.trace() == "-a(boom) +a"


@pytest.mark.otp_case(89)
@pytest.mark.parametrize("reason", [Normal(), Exit("weird"), Shutdown("x")], ids=str)
def test_exit_of_the_parent_ends_it_with_the_parents_reason(lab: Lab, reason: Reason) -> None:
    parent, sup = lab.start_under_parent(tree(*lab.workers("ab")))
    lab.trace()
    parent.cast(Parent.send_exit, reason)
    lab.settle()
    assert sup.reason == reason
    assert lab.trace().startswith("-b(shutdown) -a(shutdown) SUP(")


def test_parent_that_dies_takes_its_supervisor_along(lab: Lab) -> None:
    """Semantics 7.3."""
    parent, _ = lab.start_under_parent(tree(lab.worker("a")))
    lab.trace()
    parent.kill()
    assert lab.trace() == "-a(shutdown) SUP(killed)"


@pytest.mark.otp_case(90)
def test_killed_supervisor_leaves_its_children_to_their_links(lab: Lab) -> None:
    sup = lab.start(tree(lab.worker("a"), lab.worker("n", traps=False)))
    deaf = lab.refs["n"]
    lab.trace()
    sup.kill()
    assert lab.trace() == "SUP(killed) -a(killed)"
    assert str(deaf.reason) == "killed"
    assert lab.system.alive == 0


@pytest.mark.otp_case(92)
def test_unexpected_message_is_reported_and_harms_nobody(lab: Lab) -> None:
    sup = lab.start(tree(lab.worker("a")))
    with Recorder(lab.system, UnknownMessage) as recorder:
        sup.tell("what is this")
        lab.settle()
    assert [event.path for event in recorder.events] == ["lab/top"]
    with pytest.raises(otpy.OtpyError, match="a supervisor takes no raw requests"):
        sup.ask("and this")
    assert sup.is_alive()
    assert lab.system.record("lab/top").queue == 0


@pytest.mark.otp_case(93)
def test_call_to_a_supervisor_that_is_stopping_fails_with_its_exit(lab: Lab) -> None:
    gate = lab.gate()
    sup = lab.start(tree(lab.worker("a", at_stop=gate.wait)))
    asking = lab.start(tree(lab.worker("q"), id="other"))
    sup.stop(Shutdown(), block=False)
    gate.reached()
    answers: list[object] = []

    def ask(_: object) -> None:
        with pytest.raises(CallExitError) as caught:
            sup.call(otpy.Supervisor.which_children)
        answers.append(caught.value.reason)

    lab.refs["q"].cast(lab.refs["q"].actor_class.do, lambda: ask(None))
    lab.settle()
    assert answers == []
    gate.open()
    lab.settle()
    assert answers == [Shutdown()]
    assert asking.is_alive()


@pytest.mark.otp_case(94)
@pytest.mark.parametrize("options", [{}, {"start_timeout": 9.0}, {"place": "thread"}], ids=str)
@pytest.mark.report("A43", "puniverse/quasar#42")
def test_init_that_calls_its_own_supervisor_is_refused_at_once(lab: Lab, options: dict[str, Any]) -> None:
    """OTP lets such a call run into its timeout, or hang."""
    refusals: list[Exception] = []

    class Asking(otpy.GenServer):
        def init(self) -> None:
            assert self.ref.parent is not None
            with pytest.raises(DeadlockError) as caught:
                self.ref.parent.within(None).call(otpy.Supervisor.which_children)
            refusals.append(caught.value)

    lab.start(tree(otpy.child(Asking).opts(**options)))
    assert len(refusals) == 1
    assert "lab/top/Asking → lab/top → lab/top/Asking" in str(refusals[0])


def test_init_that_calls_the_supervisor_of_its_supervisor_is_refused_at_once(lab: Lab) -> None:
    refusals: list[DeadlockError] = []

    class Asking(otpy.GenServer):
        def init(self, name: str) -> None:
            with pytest.raises(DeadlockError) as caught:
                self.system.ref(name).within(None).call(otpy.Supervisor.which_children)
            refusals.append(caught.value)

    lab.start(tree(tree(otpy.child(Asking, "top"), id="mid")).opts(name="top"))
    assert [error.chain for error in refusals] == [
        ("lab/top/mid/Asking", "lab/top", "lab/top/mid", "lab/top/mid/Asking")
    ]


def test_terminate_that_calls_its_own_supervisor_is_refused_at_once(lab: Lab) -> None:
    refusals: list[Exception] = []

    def ask() -> None:
        with pytest.raises(DeadlockError) as caught:
            sup.within(None).call(otpy.Supervisor.which_children)
        refusals.append(caught.value)

    sup = lab.start(tree(lab.worker("a", at_stop=ask)))
    sup.stop()
    assert len(refusals) == 1


@pytest.mark.otp_case(96)
def test_requests_wait_while_a_child_starts(lab: Lab) -> None:
    gate = lab.gate()
    sup = lab.start(tree(lab.worker("q"), id="other"))
    slow = lab.start(tree())
    answers: list[object] = []

    def start() -> None:
        slow.within(None).call(otpy.Supervisor.start_child, lab.worker("a", at_start=lambda _: gate.wait()))

    lab.refs["q"].cast(lab.refs["q"].actor_class.do, start)
    gate.reached()
    more = lab.start(tree(lab.worker("r"), id="third"))
    lab.refs["r"].cast(lab.refs["r"].actor_class.do, lambda: answers.append(ids(slow)))
    lab.settle()
    assert answers == []
    gate.open()
    lab.settle()
    assert answers == ["a"]
    assert sup.is_alive()
    assert more.is_alive()


@pytest.mark.report("D119", "Supervisor/supervisor#1445")
def test_child_starts_only_when_the_one_before_it_is_ready(lab: Lab) -> None:
    """Its `init` has returned."""
    gate = lab.gate()
    specs = lab.worker("a", at_start=lambda _: gate.wait()), lab.worker("b")
    starter = threading.Thread(target=lambda: lab.start(tree(*specs)))
    starter.start()
    gate.reached()
    assert lab.starts == {"a": 1}
    gate.open()
    starter.join()
    assert lab.trace() == "+a +b"


@pytest.mark.report("A13", "gleam-lang/otp#65")
def test_stopping_a_supervisor_of_a_hundred_leaves_nobody(lab: Lab) -> None:
    sup = lab.start(tree(*(lab.worker(f"w{number}", traps=bool(number % 2)) for number in range(100))))
    assert lab.system.alive == 101
    sup.stop(Shutdown())
    assert lab.system.alive == 0
