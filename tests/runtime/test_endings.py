"""What who waits sees of a slow end: replies that come after terminate, stops that time out, futures asked twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pykka
import pytest

import otpy
from otpy.errors import CallTimeoutError, NoProcError
from otpy.testing import Gate
from support.doer import Doer

if TYPE_CHECKING:
    from otpy.testing import VirtualClock


class Slow(Doer):
    def terminate(self, reason: otpy.Reason) -> None:
        otpy.sleep(0.2)
        super().terminate(reason)


@pytest.mark.otp_case(54)
def test_the_reply_of_a_stop_comes_after_a_slow_terminate(timed: otpy.System, clock: VirtualClock) -> None:
    done: list[object] = []
    seen: list[object] = []
    server, caller = timed.start(Slow, done), timed.start(Doer)

    def ask(_: Doer) -> None:
        reply = server.call(Doer.do, lambda _: otpy.Stop(otpy.Normal(), "bye"))
        seen.append((reply, *done))

    caller.cast(Doer.run, ask)
    clock.advance(0.19)
    assert (seen, server.is_alive()) == ([], True)
    clock.advance(0.01)
    timed.wait_idle()
    assert seen == [("bye", ("terminate", otpy.Normal()))]
    assert server.reason == otpy.Normal()


@pytest.mark.otp_case(69)
def test_a_stop_that_times_out_during_terminate_goes_on(system: otpy.System) -> None:
    gate = Gate()

    class Stuck(Doer):
        def terminate(self, reason: otpy.Reason) -> None:
            gate.wait()

    ref = system.start(Stuck)
    monitor = ref.monitor()
    with pytest.raises(CallTimeoutError):
        ref.stop(timeout=0.01)
    gate.reached()
    assert ref.is_alive()
    gate.open()
    assert monitor.wait().reason == otpy.Normal()


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
    server.call(Doer.read)
    assert [kept[0].reply("first"), kept[0].reply("second")] == [True, False]
    assert future.get(timeout=5) == "first"
