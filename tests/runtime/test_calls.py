"""Calls: replies, timeouts, late and deferred replies, and servers that end."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.errors import CallExitError, CallTimeoutError, MailboxFullError, NoProcError, UnknownRequestError
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


@pytest.mark.otp_case(50)
def test_a_call_without_time_fails_unless_the_reply_is_there(system: otpy.System) -> None:
    server = system.start(Doer)
    with Gate() as gate:
        server.cast(Doer.run, lambda _: gate.wait())
        gate.reached()
        with pytest.raises(CallTimeoutError, match="no reply within 0 s"):
            server.within(0).call(Doer.read)
        with pytest.raises(CallTimeoutError):
            server.within(-1).call(Doer.read)


@pytest.mark.parametrize("seconds", [None, otpy.INFINITY, 1e12])
@pytest.mark.report("B73", "atomvm/AtomVM#384")
def test_a_call_may_wait_for_ever(system: otpy.System, seconds: float | None) -> None:
    server = system.start(Doer)
    assert server.within(seconds).call(Doer.do, lambda _: 1) == 1
    assert server.ask(1, timeout=seconds) == 1
    assert server.stop(timeout=seconds)


def test_a_time_that_is_no_number_is_refused(system: otpy.System) -> None:
    with pytest.raises(ValueError, match="a time is a number of seconds, got nan"):
        system.start(Doer).within(float("nan"))


@pytest.mark.otp_case(229)
@pytest.mark.report("A47", "fizzAI/fauxtp")
def test_an_error_in_a_call_ends_the_server_and_reaches_the_caller(system: otpy.System) -> None:
    """The actors of pykka live on."""
    ref = system.start(Doer)
    with pytest.raises(CallExitError) as caught:
        ref.call(Doer.do, lambda _: 1 // 0)
    assert isinstance(caught.value.reason, otpy.Crashed)
    assert caught.value.reason.type == "ZeroDivisionError"
    assert not ref.is_alive()


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


@pytest.mark.otp_case(53)
def test_a_stop_without_reply_fails_the_call_with_its_reason(system: otpy.System) -> None:
    ref = system.start(Doer)
    with pytest.raises(CallExitError) as caught:
        ref.call(Doer.do, lambda _: otpy.Stop())
    assert caught.value.reason == otpy.Normal()


def test_a_stop_with_reply_runs_terminate_before_the_reply(system: otpy.System) -> None:
    log: list[object] = []
    ref = system.start(Doer, log)
    assert ref.call(Doer.do, lambda _: otpy.Stop(otpy.Normal(), "bye")) == "bye"
    assert log == [("terminate", otpy.Normal())]


@pytest.mark.otp_case(56)
def test_the_first_of_two_replies_counts(system: otpy.System) -> None:
    """Semantics 6.8."""
    ref = system.start(Doer)
    said: list[bool] = []

    def twice(self: Doer) -> str:
        assert self.caller is not None
        said.extend([self.caller.reply("one"), self.caller.reply("two")])
        return "three"

    assert ref.call(Doer.do, twice) == "one"
    assert said == [True, False]
    assert flush(ref) == []


def test_a_deferred_reply_may_come_from_another_actor(system: otpy.System) -> None:
    server, helper = system.start(Doer), system.start(Doer)

    def delegate(self: Doer) -> otpy.NoReply:
        caller = self.caller
        assert caller is not None
        helper.cast(Doer.run, lambda _: caller.reply("from the helper") and None)
        return otpy.NoReply()

    assert server.call(Doer.do, delegate) == "from the helper"
    assert not server.extras().deferred


def test_a_deferred_reply_may_come_from_any_thread(system: otpy.System) -> None:
    server = system.start(Doer)
    kept: list[otpy.Caller] = []
    future = server.ask(lambda _, caller: kept.append(caller) or otpy.NoReply(), block=False)
    flush(server)
    assert kept[0].reply("now")
    assert future.get(timeout=5) == "now"
    assert not kept[0].reply("again")


def test_a_reply_that_overtakes_the_decision_to_defer_leaves_nothing(system: otpy.System) -> None:
    """The helper answers while the handler that deferred has not returned."""
    server, answered = system.start(Doer), threading.Event()

    def delegate(self: Doer) -> otpy.NoReply:
        caller = self.caller
        assert caller is not None
        threading.Thread(target=lambda: caller.reply("early") and answered.set()).start()
        answered.wait()
        return otpy.NoReply()

    assert server.call(Doer.do, delegate) == "early"
    flush(server)
    assert not server.extras().deferred


def test_a_deferred_caller_that_gave_up_is_forgotten(timed: otpy.System, clock: VirtualClock) -> None:
    """A server that never replies must not collect those who once waited."""
    server, caller = timed.start(Doer), timed.start(Doer)

    def ask(_: Doer) -> None:
        with pytest.raises(CallTimeoutError):
            server.within(1).call(Doer.do, lambda _: otpy.NoReply())

    caller.cast(Doer.run, ask)
    timed.wait_idle()
    assert len(server.extras().deferred) == 1
    clock.advance(1)
    assert not server.extras().deferred


def test_deferred_callers_hear_of_the_servers_end(system: otpy.System) -> None:
    server = system.start(Doer)
    futures = [server.ask(lambda *_: otpy.NoReply(), block=False) for _ in range(3)]
    flush(server)
    server.exit(BOOM)
    for future in futures:
        with pytest.raises(CallExitError) as caught:
            future.get(timeout=5)
        assert caught.value.reason == BOOM


def test_a_reply_after_the_servers_end_is_dropped(system: otpy.System) -> None:
    server = system.start(Doer)
    kept: list[otpy.Caller] = []
    future = server.ask(lambda _, caller: kept.append(caller) or otpy.NoReply(), block=False)
    flush(server)
    server.kill()
    assert not kept[0].reply("too late")
    with pytest.raises(CallExitError):
        future.get(timeout=5)


def test_the_server_can_refuse_a_request_and_live_on(system: otpy.System) -> None:
    ref = system.start(Doer)

    def refuse(self: Doer) -> otpy.NoReply:
        assert self.caller is not None
        self.caller.refuse(LookupError("not here"))
        return otpy.NoReply()

    with pytest.raises(LookupError, match="not here"):
        ref.call(Doer.do, refuse)
    assert ref.is_alive()


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
    server.exit(BOOM)
    gate.open()
    assert set(probe.expect(300)) == {BOOM}
    for future in futures:
        with pytest.raises(CallExitError):
            future.get(timeout=5)


@pytest.mark.otp_case(93)
def test_a_call_while_the_server_terminates_gets_its_reason(system: otpy.System) -> None:
    """For any actor: what comes during terminate is not handled, and nobody waits for it in vain."""

    class Slow(Doer):
        def terminate(self, reason: otpy.Reason) -> None:
            self.log[0].wait()

    gate = Gate()
    ref = system.start(Slow, [gate])
    ref.cast(Doer.run, lambda _: otpy.Stop(BOOM))
    gate.reached()
    future = ref.ask("x", block=False)
    gate.open()
    with pytest.raises(CallExitError) as caught:
        future.get(timeout=5)
    assert caught.value.reason == BOOM


def test_a_terminating_actor_may_call_others(system: otpy.System) -> None:
    peer = system.start(Doer)

    class Polite(Doer):
        def terminate(self, reason: otpy.Reason) -> None:
            peer.call(Doer.do, lambda self: self.log.append("goodbye"))

    system.start(Polite).stop()
    assert flush(peer) == ["goodbye"]


def test_a_terminating_actor_that_calls_who_waits_for_its_end_is_told_so(system: otpy.System) -> None:
    """The waiting one holds an edge to the one that ends."""
    seen: list[str] = []
    waiting = system.start(Doer)

    class Rude(Doer):
        def terminate(self, reason: otpy.Reason) -> None:
            try:
                waiting.call(Doer.read)
            except otpy.OtpyError as error:
                seen.append(type(error).__name__)

    ref = system.start(Rude)
    assert waiting.call(Doer.do, lambda _: ref.stop()) is True
    assert seen == ["DeadlockError"]


@pytest.mark.otp_case(68)
def test_a_stop_that_ends_with_another_reason_raises_it(system: otpy.System) -> None:
    class Failing(Doer):
        def terminate(self, reason: otpy.Reason) -> None:
            otpy.exit(BOOM)

    with pytest.raises(CallExitError) as caught:
        system.start(Failing).stop()
    assert caught.value.reason == BOOM


def test_a_stop_that_takes_too_long_raises_and_the_actor_still_ends(system: otpy.System) -> None:
    ref = system.start(Doer)
    monitor = ref.monitor()
    with Gate() as gate:
        ref.cast(Doer.run, lambda _: gate.wait())
        gate.reached()
        with pytest.raises(CallTimeoutError):
            ref.stop(timeout=0)
    assert monitor.wait().reason == otpy.Normal()


@pytest.mark.otp_case(70)
@pytest.mark.report("B53", "jodal/pykka#46")
def test_a_stop_waits_behind_what_was_sent_before(system: otpy.System) -> None:
    """`exit` and `kill` do not."""
    log: list[object] = []
    ref = system.start(Doer, log)
    for number in range(100):
        ref.tell(number)
    assert ref.stop()
    assert log == [*range(100), ("terminate", otpy.Normal())]


@pytest.mark.report("B65", "tqwewe/kameo#340")
def test_a_crash_in_terminate_is_the_reason(system: otpy.System) -> None:
    """Semantics 6.5: whoever waits gets the error."""

    class Failing(Doer):
        def terminate(self, reason: otpy.Reason) -> None:
            raise ValueError("in terminate")

    with pytest.raises(CallExitError, match="in terminate"):
        system.start(Failing).stop()
    with pytest.raises(CallExitError, match="in terminate"):
        system.start(Failing).call(Doer.do, lambda _: otpy.Stop())
    assert system.start(Failing).call(Doer.do, lambda _: otpy.Stop(otpy.Normal(), "bye")) == "bye"


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


def test_the_reply_of_a_turn_does_not_wait_for_the_next_message(system: otpy.System) -> None:
    """A reply is held back to the end of the turn, never over a message that came in the meantime and blocks."""
    server = system.start(Doer)
    gate, inside = Gate(), threading.Event()

    def reply(_: Doer) -> str:
        server.cast(Doer.run, lambda _: gate.wait())
        inside.set()
        return "reply"

    assert server.within(5).call(Doer.do, reply) == "reply"
    gate.open()


def test_the_reply_of_a_turn_does_not_wait_for_another_actors_turn(system: otpy.System) -> None:
    server, other = system.start(Doer), system.start(Doer)
    gate = threading.Event()

    def reply(_: Doer) -> str:
        other.cast(Doer.run, lambda _: gate.wait() and None)
        return "reply"

    for _ in range(20):
        assert server.within(5).call(Doer.do, reply) == "reply"
    gate.set()


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
