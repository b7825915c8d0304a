"""What is reported of starts, crashes, restarts and limits, and in which order. OTP cases L."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.reason import Killed, Normal, Reason, Shutdown
from otpy.errors import StartError
from otpy.events import ActorCrashed, ChildStarted, ChildStartFailed, ChildTerminated, Event, RestartLimitReached
from otpy.testing import Recorder
from support.lab import BOOM, Worker, dynamic, started, tree

if TYPE_CHECKING:
    from support.lab import Lab


def told(events: list[Event]) -> list[str]:
    """Each report in a few words."""
    return [" ".join(_words(event)) for event in events]


def _words(event: Event) -> list[str]:
    words = [type(event).__name__, event.path.removeprefix("lab/top/")]
    match event:
        case ChildStarted(restarts=restarts):
            return [*words, str(restarts)]
        case RestartLimitReached(child=child):
            return [words[0], child]
        case ActorCrashed(reason=reason) | ChildTerminated(reason=reason) | ChildStartFailed(reason=reason):
            return [*words, str(reason).partition(":")[0]]
    return words


@pytest.mark.otp_case(177)
def test_each_start_is_reported_in_order(lab: Lab) -> None:
    with Recorder(lab.system) as recorder:
        started(lab, *lab.workers("ab"))
    assert told(recorder.events) == ["ChildStarted a 0", "ChildStarted b 0"]


@pytest.mark.otp_case(178)
@pytest.mark.parametrize("how", ["exit", "error"])
def test_a_crash_is_reported_by_the_actor_then_by_its_supervisor_then_the_new_start(lab: Lab, how: str) -> None:
    """One report of the actor's own where OTP has two, of the server and of its process."""
    started(lab, *lab.workers("ab"))
    with Recorder(lab.system) as recorder:
        lab.end("a") if how == "exit" else lab.refs["a"].cast(Worker.crash, ValueError("boom"))
        lab.settle()
    word = "exit" if how == "exit" else "ValueError"
    assert told(recorder.events) == [f"ActorCrashed a {word}", f"ChildTerminated a {word}", "ChildStarted a 1"]


@pytest.mark.otp_case(180)
def test_a_restart_that_fails_once_is_reported_with_its_reason(lab: Lab) -> None:
    started(lab, lab.worker("b", "+!"))
    with Recorder(lab.system, ChildTerminated, ChildStartFailed, ChildStarted) as recorder:
        lab.kill("b")
        lab.settle()
    assert told(recorder.events) == ["ChildTerminated b killed", "ChildStartFailed b exit", "ChildStarted b 1"]
    assert recorder.of(ChildStartFailed)[0].reason == BOOM


@pytest.mark.otp_case(180)
@pytest.mark.parametrize("limit", [0, 1])
def test_the_limit_is_reported_after_the_end_that_reached_it(lab: Lab, limit: int) -> None:
    started(lab, *lab.workers("ab"), max_restarts=limit)
    with Recorder(lab.system, ChildTerminated, RestartLimitReached) as recorder:
        for _ in range(limit + 1):
            lab.kill("a")
            lab.settle()
    assert told(recorder.events) == ["ChildTerminated a killed"] * (limit + 1) + ["RestartLimitReached a"]


@pytest.mark.otp_case(180)
def test_a_first_start_that_fails_is_reported_after_those_that_went_well(lab: Lab) -> None:
    with Recorder(lab.system, ChildStarted, ChildStartFailed) as recorder, pytest.raises(StartError):
        lab.system.start(tree(lab.worker("a"), lab.worker("b", "!"), lab.worker("c")))
    assert told(recorder.events) == ["ChildStarted a 0", "ChildStartFailed b exit"]


@pytest.mark.otp_case(98, 181)
@pytest.mark.parametrize("restart", ["transient", "temporary"])
@pytest.mark.parametrize("reason", [Normal(), Shutdown(), Shutdown("z")], ids=str)
def test_a_clean_end_that_restarts_nothing_is_no_report(lab: Lab, restart: Any, reason: Reason) -> None:
    started(lab, lab.worker("a").opts(restart=restart))
    with Recorder(lab.system) as recorder:
        lab.end("a", reason)
        lab.settle()
    assert told(recorder.events) == []


@pytest.mark.otp_case(181)
@pytest.mark.parametrize("reason", [Normal(), Shutdown(), Shutdown("z")], ids=str)
def test_a_clean_end_of_a_permanent_child_is_its_supervisors_report_alone(lab: Lab, reason: Reason) -> None:
    started(lab, lab.worker("a"))
    with Recorder(lab.system) as recorder:
        lab.end("a", reason)
        lab.settle()
    assert [type(event) for event in recorder.events] == [ChildTerminated, ChildStarted]


@pytest.mark.otp_case(100)
def test_an_abnormal_end_of_a_temporary_child_is_reported(lab: Lab) -> None:
    """Semantics 7.3."""
    started(lab, lab.worker("a").opts(restart="temporary"))
    with Recorder(lab.system) as recorder:
        lab.kill("a")
        lab.settle()
    assert told(recorder.events) == ["ChildTerminated a killed"]


@pytest.mark.otp_case(162)
def test_a_start_asked_for_that_fails_is_told_to_who_asked_and_not_by_the_supervisor(lab: Lab) -> None:
    sup, crowd = started(lab), dynamic(lab)
    with Recorder(lab.system, ChildStarted, ChildStartFailed, ChildTerminated) as recorder:
        for ref, request in ((sup, otpy.Supervisor.start_child), (crowd, otpy.DynamicSupervisor.start_child)):
            with pytest.raises(StartError):
                ref.call(request, lab.worker("a", "!!"))
    assert recorder.events == []


@pytest.mark.otp_case(181)
def test_a_crash_report_says_who_and_why_and_where(lab: Lab) -> None:
    started(lab, lab.worker("a"))
    with Recorder(lab.system, ActorCrashed) as recorder:
        lab.refs["a"].cast(Worker.crash, ValueError("boom"))
        lab.settle()
    [report] = recorder.of(ActorCrashed)
    assert (report.path, report.kind, report.message) == ("lab/top/a", "Worker", "cast crash(<ValueError>)")
    assert isinstance(report.reason, otpy.Crashed)
    assert (report.reason.type, report.reason.text) == ("ValueError", "boom")
    assert "in crash" in report.reason.traceback


@pytest.mark.otp_case(181)
def test_a_crash_report_says_where_the_actor_stood(lab: Lab) -> None:
    gate = lab.gate()
    inner = tree(lab.worker("a").opts(name="cache"), id="inner")
    started(lab, lab.worker("b"), inner)
    crashing = lab.refs["a"]
    crashing.call(Worker.ask_to_do, lambda worker: worker.link(lab.refs["b"]))
    with Recorder(lab.system, ActorCrashed) as recorder:
        crashing.cast(Worker.do, gate.wait)
        gate.reached()
        crashing.cast(Worker.crash, ValueError("boom"))
        crashing.tell("one that waits")
        gate.open()
        lab.settle()
    [report] = recorder.of(ActorCrashed)
    assert (report.path, report.name, report.queue, report.traps_exits) == ("lab/top/inner/a", "cache", 1, True)
    assert report.ancestors == ("lab/top/inner", "lab/top")
    assert set(report.links) == {"lab/top/inner", "lab/top/b"}
    assert report.neighbours == ()


@pytest.mark.otp_case(182)
def test_a_crash_report_names_the_linked_ones_that_die_too(lab: Lab) -> None:
    """Those that do not trap exits, also through each other; who traps lives on and is none of them."""
    inner = tree(lab.worker("m", traps=False), id="inner")
    started(lab, lab.worker("a"), lab.worker("n", traps=False), lab.worker("t"), inner)
    for one, other in (("a", "n"), ("n", "m"), ("a", "t")):
        lab.refs[one].call(Worker.ask_to_do, lambda worker, other=other: worker.link(lab.refs[other]))
    crashing, near, far = lab.refs["a"], lab.refs["n"], lab.refs["m"]
    with Recorder(lab.system, ActorCrashed) as recorder:
        crashing.cast(Worker.crash, ValueError("boom"))
        lab.settle()
    report = next(event for event in recorder.of(ActorCrashed) if event.path == "lab/top/a")
    assert {(one.path, one.kind, one.ancestors) for one in report.neighbours} == {
        ("lab/top/n", "Worker", ("lab/top",)),
        ("lab/top/inner/m", "Worker", ("lab/top/inner", "lab/top")),
    }
    assert (near.reason, far.reason) == (crashing.reason, crashing.reason)


@pytest.mark.otp_case(181)
def test_one_that_is_killed_makes_no_crash_report(lab: Lab) -> None:
    """As in OTP, where a killed process runs no more code: its supervisor's report is the only one."""
    started(lab, lab.worker("a"), lab.worker("n", traps=False))
    with Recorder(lab.system, ActorCrashed, ChildTerminated) as recorder:
        lab.kill("a")
        lab.refs["n"].exit(BOOM)
        lab.settle()
    assert told(recorder.events) == ["ChildTerminated a killed", "ChildTerminated n exit"]
    assert recorder.of(ChildTerminated)[0].reason == Killed()
