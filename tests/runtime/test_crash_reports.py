"""Crash reports: what they tell, how little they cost, and when there is none."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.errors import CallExitError
from otpy.events import ActorCrashed, Event
from otpy.runtime.report import MAX_DETAILED, MAX_LINKS, MAX_NEIGHBOURS
from support.doer import BOOM, Doer, flush

if TYPE_CHECKING:
    from otpy.testing import Recorder


def crash(ref: otpy.Ref[Doer], events: Recorder, *, error: Exception | None = None) -> ActorCrashed:
    """The report of its crash."""
    monitor = ref.monitor()
    ref.cast(Doer.run, fail, error or ValueError("x"))
    monitor.wait()
    return next(event for event in events.of(ActorCrashed) if event.path == ref.path)


def fail(_: Doer, error: Exception) -> None:
    raise error


def link(one: otpy.Ref[Doer], other: otpy.Ref[Any]) -> None:
    one.call(Doer.do, lambda self: self.link(other))


@pytest.mark.otp_case(181)
def test_a_report_says_who_crashed_why_and_in_what_surroundings(system: otpy.System, events: Recorder) -> None:
    boss = system.start(Doer, traps=True)
    spec = otpy.child(Doer).opts(name="clerk", id="clerk")
    ref: otpy.Ref[Doer] = boss.call(Doer.do, lambda self: self.spawn_link(spec))
    watch = ref.monitor()
    report = crash(ref, events)
    watch.cancel()
    assert (report.path, report.kind, report.name) == ("t/Doer/clerk", "Doer", "clerk")
    assert report.ancestors == ("t/Doer",)
    assert report.links == ("t/Doer",)
    assert report.monitors == 2
    assert report.traps_exits is False
    assert report.message == "cast run(<function fail>, <ValueError>)"
    assert dict(report.state)["log"].startswith("[('terminate'")
    assert report.neighbours == ()  # its parent traps exits


@pytest.mark.otp_case(181)
@pytest.mark.parametrize("reason", [otpy.Normal(), otpy.Shutdown(), otpy.Shutdown("enough")])
def test_a_clean_end_gives_no_report(system: otpy.System, events: Recorder, reason: otpy.Reason) -> None:
    ref = system.start(Doer)
    monitor = ref.monitor()
    ref.cast(Doer.run, lambda _: otpy.exit(reason))
    assert monitor.wait().reason == reason
    assert events.of(ActorCrashed) == []


@pytest.mark.otp_case(182)
def test_those_who_end_with_it_are_named_with_their_ancestors(system: otpy.System, events: Recorder) -> None:
    first, second, third, trapping, beyond = (system.start(Doer, traps=n == 3) for n in range(5))
    link(first, second)
    link(second, third)
    link(first, trapping)
    link(trapping, beyond)  # it goes no further through one that traps exits
    nested: otpy.Ref[Doer] = second.call(Doer.do, lambda self: self.spawn_link(Doer))
    report = crash(first, events)
    assert [(n.path, n.ancestors) for n in report.neighbours] == [
        ("t/Doer-2", ()),
        ("t/Doer-3", ()),
        ("t/Doer-2/Doer", ("t/Doer-2",)),
    ]
    system.wait_idle()
    assert not nested.is_alive()
    assert (second.is_alive(), third.is_alive(), trapping.is_alive(), beyond.is_alive()) == (False, False, True, True)
    assert "ends with it: t/Doer-2 (Doer), t/Doer-3 (Doer)" in str(report)


def test_of_many_neighbours_some_are_named(system: otpy.System, events: Recorder) -> None:
    """OTP: at most 15."""
    hub = system.start(Doer)
    for _ in range(3 * MAX_LINKS):
        link(hub, system.start(Doer))
    report = crash(hub, events)
    assert len(report.neighbours) == MAX_NEIGHBOURS
    assert len(report.links) == MAX_LINKS
    system.wait_idle()
    assert system.alive == 0


@pytest.mark.report("F152", "erlang/otp#328")
def test_a_report_is_bounded_whatever_the_actor_holds(system: otpy.System) -> None:
    class Endless:
        def __repr__(self) -> str:
            raise AssertionError("a report runs no repr")

    ref = system.start(Doer)
    ref.call(Doer.do, lambda self: vars(self).update(text="x" * 100_000_000, odd=Endless(), many=[Endless()] * 1_000))
    system.suspend(ref.path)
    ref.cast(Doer.run, fail, ValueError("y" * 1_000_000))
    assert ref.mailbox is not None
    ref.mailbox.extend([(fail, "z" * 100)] * 1_000_000)
    reports: list[ActorCrashed] = []
    detach = system.events.attach(reports.append, ActorCrashed)
    monitor = ref.monitor()
    system.resume(ref.path)
    monitor.wait(30.0)
    detach()
    [report] = reports
    assert report.queue == 1_000_000
    assert len(str(report)) < 5_000
    assert len(repr(report)) < 10_000


def test_whose_calls_fail_is_told(system: otpy.System, events: Recorder) -> None:
    def ask(self: Doer) -> None:
        with pytest.raises(CallExitError):
            ref.call(Doer.do, fail, ValueError("x"))

    ref = system.start(Doer)
    asking = system.start(Doer)
    asking.call(Doer.do, ask)
    [report] = events.of(ActorCrashed)
    assert report.callers == ("t/Doer-2",)
    assert "calls that fail: from t/Doer-2" in str(report)


def test_a_deferred_and_a_waiting_call_fail_too(system: otpy.System, events: Recorder) -> None:
    ref = system.start(Doer)
    futures = [ref.ask(lambda *_: otpy.NoReply(), block=False), ref.ask("never", block=False)]
    ref.call(Doer.do, lambda self: None)
    late = ref.ask(lambda *_: otpy.NoReply(), block=False)
    report = crash(ref, events)
    assert report.callers == ("outside", "outside")
    assert futures[1].get(timeout=1.0) == "never"
    with pytest.raises(CallExitError):
        late.get(timeout=1.0)


def test_a_storm_of_crashes_gets_brief_reports(timed: otpy.System) -> None:
    """And after a second the next ones have all details again."""
    reports: list[ActorCrashed] = []
    timed.events.attach(reports.append, ActorCrashed)
    for count in (MAX_DETAILED + 5, 1):
        refs = [timed.start(Doer) for _ in range(count)]
        for ref in refs:
            ref.cast(Doer.run, fail, ValueError("x"))
        timed.wait_idle()
        timed.clock.advance(1.0)  # type: ignore[attr-defined]  # a virtual one
    detailed = [bool(report.state) for report in reports]  # those of the storm in the order in which threads came by
    assert (sorted(detailed[:-1]), detailed[-1]) == ([False] * 5 + [True] * MAX_DETAILED, True)
    assert {report.message for report in reports if not report.state} == {"cast run"}


def test_a_brief_listener_costs_no_details(system: otpy.System) -> None:
    logging.getLogger("otpy").setLevel(logging.CRITICAL + 1)
    seen: list[Event] = []
    detach = system.events.attach(seen.append, ActorCrashed, brief=True)
    ref = system.start(Doer)
    ref.cast(Doer.run, fail, ValueError("x"))
    system.wait_idle()
    detach()
    other = system.start(Doer)
    other.cast(Doer.run, fail, ValueError("x"))
    system.wait_idle()
    assert [(type(event), event.state) for event in seen if isinstance(event, ActorCrashed)] == [(ActorCrashed, ())]


@pytest.mark.report("B49", "jodal/pykka#187")
def test_the_log_reads_top_down(system: otpy.System, events: Recorder) -> None:
    """First who, in what and why, then the traceback with its causes, then the details in a few lines."""

    def fail_twice(_: Doer) -> None:
        try:
            fail(_, KeyError("first"))
        except KeyError as error:
            raise RuntimeError("second") from error

    ref = system.start(Doer)
    monitor = ref.monitor()
    ref.cast(Doer.run, fail_twice)
    monitor.wait()
    [report] = events.of(ActorCrashed)
    lines = str(report).splitlines()
    assert lines[0].startswith("t/Doer (Doer) crashed during cast run(<function ")
    assert lines[0].endswith("): RuntimeError: second")
    assert lines[1] == "Traceback (most recent call last):"
    assert lines.index("KeyError: 'first'") < lines.index("which led to:") < lines.index("RuntimeError: second")
    assert len(lines) - lines.index("RuntimeError: second") <= 4
    assert isinstance(report.reason, otpy.Crashed)
    assert report.reason.cause is not None
    assert report.reason.cause.type == "KeyError"


def test_an_actor_whose_report_fails_ends_for_its_own_reason(system: otpy.System) -> None:
    class Odd(Doer):
        @property
        def redact(self) -> Any:  # type: ignore[override]  # Any: never returns
            raise SystemExit

    ref = system.start(Odd)
    ref.call(Doer.do, lambda self: vars(self).update({1: 2}))  # no attribute of anybody's
    monitor = ref.monitor()
    ref.cast(Doer.run, fail, ValueError("x"))
    reason = monitor.wait().reason
    assert isinstance(reason, otpy.Crashed)
    assert reason.type == "ValueError"


def test_attributes_without_a_proper_name_are_left_out(system: otpy.System, events: Recorder) -> None:
    ref = system.start(Doer)
    ref.call(Doer.do, lambda self: vars(self).update({1: 2}))
    assert [name for name, _ in crash(ref, events).state] == ["log"]


def test_an_exit_reason_is_not_said_twice(system: otpy.System, events: Recorder) -> None:
    ref = system.start(Doer)
    with pytest.raises(CallExitError):
        ref.call(Doer.do, lambda _: otpy.exit(BOOM))
    [report] = events.of(ActorCrashed)
    assert str(report).count("boom") == 2  # once as the reason, once in the log of this test's actor
    assert flush(system.start(Doer)) == []
