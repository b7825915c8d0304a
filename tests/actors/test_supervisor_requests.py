"""Supervisor: what others may ask of it. OTP cases K."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.actors import stopping
from otpy.actors.children import ChildCounts
from otpy.core.reason import Normal
from otpy.errors import (
    CallExitError,
    ChildNotFoundError,
    ChildStateError,
    NoProcError,
    StartError,
)
from otpy.events import ChildStarted
from otpy.testing.recorder import Recorder
from support.lab import BOOM, Worker, started, states, tree

if TYPE_CHECKING:
    from support.lab import Lab

SUP = otpy.Supervisor


@pytest.mark.otp_case(101)
def test_terminated_child_is_kept_unless_it_is_temporary(lab: Lab) -> None:
    sup = started(lab, lab.worker("a"), lab.worker("t").opts(restart="temporary"))
    sup.call(SUP.terminate_child, "a")
    sup.call(SUP.terminate_child, "t")
    assert states(sup) == {"a": "stopped"}
    sup.call(SUP.terminate_child, "a")  # once more is no error
    with pytest.raises(ChildNotFoundError):
        sup.call(SUP.get_childspec, "t")
    sup.call(SUP.start_child, lab.worker("t"))
    assert sup.call(SUP.restart_child, "a") is lab.refs["a"]


@pytest.mark.otp_case(160, 161, 176)
@pytest.mark.parametrize(
    "request_name", ["terminate_child", "restart_child", "delete_child", "get_childspec", "which_child"]
)
@pytest.mark.parametrize("ident", ["zz", 3, None, ["a"]], ids=str)
def test_unknown_child_is_named_with_those_that_exist(lab: Lab, request_name: str, ident: Any) -> None:
    sup = started(lab, *lab.workers("ab"))
    with pytest.raises(ChildNotFoundError, match="known are a, b"):
        sup.call(getattr(SUP, request_name), ident)
    assert sup.is_alive()


def test_misspelt_id_is_guessed(lab: Lab) -> None:
    sup = started(lab, lab.worker("feeder"))
    with pytest.raises(ChildNotFoundError, match="lab/top has no child 'feder': did you mean 'feeder'"):
        sup.call(SUP.terminate_child, "feder")


@pytest.mark.otp_case(160)
def test_restart_child_of_a_running_child_is_refused(lab: Lab) -> None:
    sup = started(lab, lab.worker("a"))
    with pytest.raises(ChildStateError, match="lab/top/a is running: terminate_child first"):
        sup.call(SUP.restart_child, "a")


@pytest.mark.otp_case(160)
def test_restart_child_that_fails_keeps_the_spec(lab: Lab) -> None:
    sup = started(lab, lab.worker("a", "+!"))
    sup.call(SUP.terminate_child, "a")
    with pytest.raises(StartError) as caught:
        sup.call(SUP.restart_child, "a")
    assert caught.value.reason == BOOM
    assert states(sup) == {"a": "stopped"}
    sup.call(SUP.restart_child, "a")
    assert states(sup) == {"a": "running"}


@pytest.mark.otp_case(161)
def test_delete_child(lab: Lab) -> None:
    sup = started(lab, lab.worker("a"))
    with pytest.raises(ChildStateError, match="lab/top/a is running"):
        sup.call(SUP.delete_child, "a")
    sup.call(SUP.terminate_child, "a")
    sup.call(SUP.delete_child, "a")
    assert states(sup) == {}


@pytest.mark.otp_case(166)
def test_count_children(lab: Lab) -> None:
    sup = started(lab, *lab.workers("ab"), tree(id="s"))
    sup.call(SUP.terminate_child, "b")
    sup.call(SUP.terminate_child, "s")
    assert sup.call(SUP.count_children) == ChildCounts(specs=3, active=1, supervisors=1, workers=2)


@pytest.mark.otp_case(176)
def test_which_child(lab: Lab) -> None:
    sup = started(lab, lab.worker("a"), tree(id="s"))
    info = sup.call(SUP.which_child, "a")
    assert (info.id, info.ref, info.state, info.type) == ("a", lab.refs["a"], "running", "worker")
    assert sup.call(SUP.which_child, "s").type == "supervisor"


@pytest.mark.otp_case(85)
def test_get_childspec(lab: Lab) -> None:
    spec = lab.worker("a").opts(shutdown=2.0)
    sup = started(lab, spec)
    assert sup.call(SUP.get_childspec, "a") is spec


@pytest.mark.otp_case(85)
def test_get_childspec_of_a_child_that_says_nothing_has_the_defaults(lab: Lab) -> None:
    """What a shutdown of None stands for: the tests of the times themselves are in test_supervisor_shutdown."""
    sup = started(lab, lab.worker("w"), tree(id="s"))
    for ident, kind in (("w", "worker"), ("s", "supervisor")):
        options = sup.call(SUP.get_childspec, ident).options
        assert (options.restart, options.shutdown, options.significant) == ("permanent", None, False)
        assert sup.call(SUP.which_child, ident).type == kind


def test_dead_supervisor_is_no_process(lab: Lab) -> None:
    """Semantics 7.10."""
    sup = started(lab)
    sup.stop()
    with pytest.raises(NoProcError):
        sup.call(SUP.which_children)


@pytest.mark.report("A7", "erlang/otp#5201")
def test_supervisor_killed_in_the_middle_of_a_request_fails_the_caller(lab: Lab) -> None:
    gate = lab.gate()
    sup = started(lab, lab.worker("a", at_stop=gate.wait))
    asker = lab.system.start(otpy.child(Caller, sup))
    asker.cast(Caller.end_child, "a")
    gate.reached()
    sup.kill()
    lab.settle()
    assert asker.call(Caller.answers) == [otpy.Killed()]
    gate.open()
    lab.settle()
    assert lab.system.alive == 1  # who asked


@pytest.mark.report("A7", "erlang/otp#5201")
@pytest.mark.parametrize("traps", [True, False], ids=["traps", "does not trap"])
def test_supervisor_killed_between_unlinking_and_telling_leaves_no_orphan(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, *, traps: bool
) -> None:
    """The link is gone and the exit signal has not been sent; a child that does not listen has its time, as ever."""
    gate = lab.gate()
    sup = started(lab, lab.worker("a", traps=traps))
    lab.refs["a"].cast(Worker.do, gate.wait)
    gate.reached()
    send = stopping.exit_signal

    def killed_first(target: otpy.Ref[Any], sender: otpy.Ref[Any], reason: otpy.Reason) -> None:
        killer = threading.Thread(target=sup.kill)
        killer.start()
        killer.join()
        send(target, sender, reason)

    monkeypatch.setattr(stopping, "exit_signal", killed_first)
    asker = lab.system.start(otpy.child(Caller, sup))
    asker.cast(Caller.end_child, "a")
    lab.settle()
    assert asker.call(Caller.answers) == [otpy.Killed()]
    lab.clock.advance(5.0)
    assert lab.refs["a"].reason == otpy.Killed()
    assert lab.system.alive == 1  # who asked


class Caller(otpy.GenServer):
    def init(self, sup: otpy.Ref[Any]) -> None:
        self.sup, self.seen = sup, []  # type: ignore[var-annotated]

    @otpy.cast
    def end_child(self, ident: str) -> None:
        try:
            self.sup.within(None).call(SUP.terminate_child, ident)
        except CallExitError as error:
            self.seen.append(error.reason)

    @otpy.call
    def answers(self) -> list[otpy.Reason]:
        return self.seen


@pytest.mark.report("B49", "jodal/pykka#187")
def test_restarts_are_counted_for_each_child(lab: Lab) -> None:
    """The attempts that fail are not counted, starts by hand are."""
    sup = started(lab, lab.worker("a"), lab.worker("b", "+!"), strategy="one_for_all")
    with Recorder(lab.system, ChildStarted) as recorder:
        lab.kill("a")
        lab.settle()
    records = {record.id: record for record in lab.system.records("lab/top")}
    assert (records["a"].restarts, records["b"].restarts) == (2, 1)
    assert [(event.path, event.restarts) for event in recorder.of(ChildStarted)] == [
        ("lab/top/a", 1),
        ("lab/top/a", 2),
        ("lab/top/b", 1),
    ]
    assert records["a"].last_exit == "shutdown"
    sup.call(SUP.terminate_child, "b")
    sup.call(SUP.restart_child, "b")
    assert lab.system.record("lab/top/b").restarts == 2


def test_operations_by_path(lab: Lab) -> None:
    started(lab, lab.worker("a"))
    lab.system.terminate_child("lab/top/a")
    assert lab.system.record("lab/top/a").status == "stopped"
    lab.system.restart_child("lab/top/a")
    lab.settle()  # its start is over before its first turn is
    assert lab.system.record("lab/top/a").status == "idle"
    lab.system.kill("lab/top/a")
    lab.settle()
    lab.system.terminate_child("lab/top/a")
    assert lab.trace() == "-a(shutdown) +a +a -a(shutdown)"


def test_temporary_child_is_restarted_by_path(lab: Lab) -> None:
    sup = started(lab, lab.worker("t").opts(restart="temporary"))
    lab.system.restart_child("lab/top/t")
    assert lab.trace() == "-t(shutdown) +t"
    assert states(sup) == {"t": "running"}


@pytest.mark.parametrize(
    "rounds", [pytest.param(60, id="60"), pytest.param(1_000, id="1000", marks=pytest.mark.stress)]
)
@pytest.mark.report("A7", "erlang/otp#5201")
def test_child_that_ends_by_itself_while_it_is_terminated_is_no_error(lab: Lab, rounds: int) -> None:
    """Always ok, never an error, never an orphan."""
    sup = started(lab, lab.worker("a").opts(restart="transient"), max_restarts=10)
    for _ in range(rounds):
        lab.end("a", Normal())
        sup.call(SUP.terminate_child, "a")
        assert sup.call(SUP.which_child, "a").state == "stopped"
        sup.call(SUP.restart_child, "a")
    lab.settle()
    assert lab.system.alive == 2
