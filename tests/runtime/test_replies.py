"""Replies: given later, by others, twice, too late, or taken from a future."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pykka
import pytest

import otpy
from otpy.errors import CallExitError, CallTimeoutError, NoProcError
from otpy.testing import Gate
from support.doer import BOOM, Doer, flush

if TYPE_CHECKING:
    from otpy.testing import VirtualClock


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
    flush(server)  # the helper may have been quicker than the turn that asked it
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


@pytest.mark.otp_case(73)
def test_a_reply_that_was_not_there_in_time_can_be_waited_for_again(system: otpy.System) -> None:
    ref = system.start(Doer)
    with Gate() as gate:
        future = ref.ask(lambda *_: gate.wait() or "late", block=False)
        gate.reached()
        with pytest.raises(pykka.Timeout):
            future.get(timeout=0)
    assert future.get(timeout=5) == "late"


@pytest.mark.otp_case(73)
def test_a_request_to_the_dead_is_answered_at_once(system: otpy.System) -> None:
    ref = system.start(Doer)
    ref.kill()
    with pytest.raises(NoProcError):
        ref.ask("x", block=False).get(timeout=0)


@pytest.mark.otp_case(74)
def test_replies_can_be_taken_as_they_are_given(system: otpy.System) -> None:
    """There are no collections of requests: whoever wants them by label keeps the futures in a dict of his own."""
    kept: list[otpy.Caller] = []
    server = system.start(Doer)
    asked = {
        label: server.ask(lambda _, caller: kept.append(caller) or otpy.NoReply(), block=False)
        for label in ("one", "two", "three")
    }
    server.call(Doer.read)
    for place in (1, 2, 0):
        kept[place].reply(place)
        assert asked.pop(["one", "two", "three"][place]).get(timeout=0) == place
    assert asked == {}


@pytest.mark.otp_case(29)
def test_an_address_for_one_reply_takes_the_first_and_drops_the_rest(system: otpy.System) -> None:
    """A `Caller` is that address; of a caller that gave up it takes none."""
    kept: list[otpy.Caller] = []
    server = system.start(Doer)
    future = server.ask(lambda _, caller: kept.append(caller) or otpy.NoReply(), block=False)
    with pytest.raises(CallTimeoutError):
        server.ask(lambda _, caller: kept.append(caller) or otpy.NoReply(), timeout=0.01)
    server.call(Doer.read)
    assert [kept[0].reply("first"), kept[0].reply("second"), kept[1].reply("too late")] == [True, False, False]
    assert future.get(timeout=5) == "first"
