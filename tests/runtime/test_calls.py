"""Calls: who may make which, how long they wait, and servers that end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.errors import CallExitError, CallTimeoutError, MailboxFullError, NoProcError, SpecError, UnknownRequestError
from otpy.testing import Gate, Probe
from support.doer import BOOM, Doer, flush

if TYPE_CHECKING:
    from otpy.testing import VirtualClock


def test_a_call_returns_what_the_method_returns(system: otpy.System) -> None:
    ref = system.start(Doer)
    assert ref.call(Doer.do, lambda _: 42) == 42
    assert ref.call(Doer.do, lambda _: None) is None
    assert ref.call(Doer.do, lambda _, x: x, 1) == 1
    assert ref.call(Doer.do, deed=lambda _: "by keyword") == "by keyword"


def test_a_raw_request_reaches_handle_call(system: otpy.System) -> None:
    ref = system.start(Doer)
    assert ref.ask("x") == "x"
    assert ref.within(1).ask("y") == "y"
    assert ref.ask("z", block=False).get(timeout=5) == "z"


@pytest.mark.otp_case(72)
def test_a_request_that_the_class_does_not_have_is_refused_in_the_sender(system: otpy.System) -> None:
    ref = system.start(Doer)
    with pytest.raises(UnknownRequestError, match=r"Doer\.run: not a @call of this actor; it has Doer\.do, Doer\.read"):
        ref.call(Doer.run)  # type: ignore[call-overload]  # what the checker refuses, too
    with pytest.raises(UnknownRequestError, match="not a @cast"):
        ref.cast(Doer.read)  # type: ignore[call-overload]


def test_a_subclass_serves_the_requests_of_its_base(system: otpy.System) -> None:
    class Louder(Doer):
        @otpy.call
        def read(self) -> list[object]:
            return ["louder", *self.log]

    assert system.start(Louder).call(Doer.read) == ["louder"]


@pytest.mark.otp_case(48)
def test_a_call_to_a_dead_actor_fails_at_once(system: otpy.System) -> None:
    ref = system.start(Doer)
    ref.kill()
    with pytest.raises(NoProcError, match="it had ended before the call"):
        ref.within(None).call(Doer.read)


@pytest.mark.otp_case(49)
@pytest.mark.report("B71", "erlang/otp#2735", "erlang/otp#2884")
def test_a_call_that_takes_too_long_fails_and_its_late_reply_is_dropped(
    timed: otpy.System, clock: VirtualClock
) -> None:
    server, caller = timed.start(Doer), timed.start(Doer)
    gate = Gate()

    def ask(self: Doer) -> None:
        try:
            server.within(0.03).call(Doer.do, lambda _: gate.wait() or "late")
        except CallTimeoutError as error:
            self.log.append((error.timeout, "within" in str(error)))

    caller.cast(Doer.run, ask)
    gate.reached()
    clock.advance(0.03)
    gate.open()
    timed.wait_idle()
    assert flush(caller) == [(0.03, True)]
    assert server.call(Doer.do, lambda _: "next") == "next"


def test_a_call_takes_five_seconds_unless_told_otherwise(timed: otpy.System, clock: VirtualClock) -> None:
    """Semantics 6.7."""
    server, caller = timed.start(Doer), timed.start(Doer)
    for deed in (
        lambda _: server.call(Doer.do, lambda _: otpy.NoReply()),
        lambda _: server.ask(lambda *_: otpy.NoReply()),
    ):
        monitor = caller.monitor()
        caller.cast(Doer.run, deed)
        timed.wait_idle()
        clock.advance(4.9)
        assert caller.is_alive()
        clock.advance(0.1)
        assert "CallTimeoutError" in str(monitor.wait().reason)
        caller = timed.start(Doer)


@pytest.mark.parametrize("seconds", [None, otpy.INFINITY, 1e12])
@pytest.mark.report("B73", "atomvm/AtomVM#384")
def test_a_call_may_wait_for_ever(system: otpy.System, seconds: float | None) -> None:
    server = system.start(Doer)
    assert server.within(seconds).call(Doer.do, lambda _: 1) == 1
    assert server.ask(1, timeout=seconds) == 1
    assert server.stop(timeout=seconds)


@pytest.mark.parametrize("seconds", [-1, -0.5, float("nan"), float("-inf"), True, "5", [1], 1j])
def test_a_time_that_is_none_is_refused(system: otpy.System, seconds: Any) -> None:
    ref = system.start(Doer)
    message = (
        rf"within: a time is a number of seconds, 0 or more, or None for no limit; got {re.escape(repr(seconds))}$"
    )

    for use in (ref.within, system.ref("no matter").within, lambda time: ref.ask(1, timeout=time)):
        with pytest.raises(SpecError, match=message):
            use(seconds)


def test_a_time_may_be_of_any_kind_of_number(system: otpy.System) -> None:
    class Seconds(float): ...

    assert system.start(Doer).within(Seconds(3.0)).call(Doer.do, lambda _: 1) == 1


def test_each_failing_caller_gets_an_error_of_its_own(system: otpy.System) -> None:
    ref = system.start(Doer)
    with Gate() as gate:
        ref.cast(Doer.run, lambda _: gate.wait())
        futures = [ref.ask("x", block=False) for _ in range(2)]
        gate.reached()
        ref.kill()
        errors = []
        for future in futures:
            with pytest.raises(CallExitError) as caught:
                future.get(timeout=5)
            errors.append(caught.value)
        assert errors[0] is not errors[1]


@pytest.mark.otp_case(232)
def test_a_thousand_callers_of_a_dying_actor_all_return(system: otpy.System) -> None:
    server, probe = system.start(Doer), Probe(system)
    callers = [system.start(Doer) for _ in range(300)]
    gate = Gate()
    server.cast(Doer.run, lambda _: gate.wait())
    gate.reached()

    def ask(_: Doer) -> None:
        with pytest.raises(CallExitError) as caught:
            server.within(None).call(Doer.read)
        probe.ref.tell(caught.value.reason)

    for caller in callers:
        caller.cast(Doer.run, ask)
    futures = [server.ask("x", block=False) for _ in range(700)]
    system.wait_idle()  # all have asked: who asks a dead one is told so
    server.exit(BOOM)
    gate.open()
    assert set(probe.expect(300)) == {BOOM}
    for future in futures:
        with pytest.raises(CallExitError):
            future.get(timeout=5)


@pytest.mark.report("B73", "atomvm/AtomVM#384")
def test_a_reply_and_a_timeout_at_the_same_moment_are_one_or_the_other(system: otpy.System) -> None:
    """A reply that was given is never lost; a call that failed leaves no wake-up for the next one."""
    server = system.start(Doer)
    for _ in range(300):
        try:
            outcome = server.within(0.0002).call(Doer.do, lambda _: "reply")
        except CallTimeoutError:
            outcome = "timeout"
        assert outcome in ("reply", "timeout")
        assert server.call(Doer.do, lambda _: "next") == "next"


def test_a_full_mailbox_refuses_a_call(system: otpy.System) -> None:
    ref = system.start(otpy.child(Doer).opts(max_queue=1))
    with Gate() as gate:
        ref.cast(Doer.run, lambda _: gate.wait())
        gate.reached()
        ref.tell("fills it")
        with pytest.raises(MailboxFullError):
            ref.call(Doer.read)


def test_a_request_is_told_by_its_name(system: otpy.System) -> None:
    class Pizzeria(otpy.GenServer):
        @otpy.call
        def deliver_pizza(self) -> str | None:
            return self.caller and self.caller.request

    assert system.start(Pizzeria).call(Pizzeria.deliver_pizza) == "deliver_pizza"
