"""Stops: how long they wait, what they tell, and what others meet while an actor ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.errors import CallExitError, CallTimeoutError
from otpy.testing import Gate
from support.doer import BOOM, Doer, flush

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


def test_a_stop_that_takes_too_long_raises_and_the_actor_still_ends(system: otpy.System) -> None:
    ref = system.start(Doer)
    monitor = ref.monitor()
    with Gate() as gate:
        ref.cast(Doer.run, lambda _: gate.wait())
        gate.reached()
        with pytest.raises(CallTimeoutError):
            ref.stop(timeout=0)
    assert monitor.wait().reason == otpy.Normal()


@pytest.mark.report("B65", "tqwewe/kameo#340")
@pytest.mark.otp_case(68)
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


def test_a_stop_that_an_exit_signal_cuts_short_gives_no_reply(timed: otpy.System, clock: VirtualClock) -> None:
    """OTP replies after `terminate`, to which this one does not come. Found by the oracle."""
    seen: list[object] = []
    server = timed.start(Slow)

    def ask(_: Doer) -> None:
        with pytest.raises(CallExitError) as caught:
            server.call(Doer.do, lambda _: otpy.Stop(otpy.Normal(), "bye"))
        seen.append(caught.value.reason)

    timed.start(Doer).cast(Doer.run, ask)
    clock.advance(0.1)
    server.exit(BOOM)
    timed.wait_idle()
    assert seen == [BOOM]
    assert server.reason == BOOM
