"""What handlers may return, and what follows from it. OTP: gen_server's callbacks."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.reason import BadReturn, Crashed
from otpy.errors import CallExitError
from otpy.events import ActorCrashed, UnknownMessage
from otpy.runtime.extras import Extras
from otpy.testing import Gate, Recorder
from support.doer import BOOM, Doer, flush

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.testing import VirtualClock


def test_a_reply_decision_is_the_reply(system: otpy.System) -> None:
    ref = system.start(Doer)
    assert ref.call(Doer.do, lambda _: otpy.Reply("value")) == "value"
    assert ref.ask(lambda *_: otpy.Reply("raw")) == "raw"


@pytest.mark.otp_case(44, 45)
def test_continue_goes_before_any_other_message(system: otpy.System) -> None:
    """C1, then c2, then what had been queued; the starter was released before."""
    released = Gate()

    def at_start(self: Doer) -> otpy.Continue:
        self.ref.tell("queued")
        return otpy.Continue(lambda self: released.wait() or otpy.Continue("c2"))

    ref = system.start(Doer, deed=at_start)
    released.open()
    log = flush(ref)
    assert log[0][0] == "continue"
    assert log[1:] == [("continue", "c2"), "queued"]


@pytest.mark.otp_case(72)
def test_a_continue_without_handler_ends_the_actor(system: otpy.System) -> None:
    """OTP: undef."""

    class Bare(otpy.GenServer):
        @otpy.call
        def go(self) -> otpy.Reply:
            return otpy.Reply("value", then=otpy.Continue())

    ref = system.start(Bare)
    monitor = ref.monitor()
    assert ref.call(Bare.go) == "value"  # type: ignore[comparison-overlap]  # a decision in the place of a value
    assert "has no handle_continue" in str(monitor.wait().reason)


@pytest.mark.otp_case(72)
def test_missing_handlers(system: otpy.System, events: Recorder) -> None:
    """An unknown message is reported and harms nobody; an unknown request ends the actor."""
    ref = system.start(otpy.GenServer)
    ref.tell("hello")
    with pytest.raises(CallExitError, match="no handle_call"):
        ref.ask("hello")
    [event] = events.of(UnknownMessage)
    assert event.message == "'hello'"
    assert system.start(otpy.GenServer).stop()


@pytest.mark.otp_case(57)
@pytest.mark.parametrize("value", ["oops", 0, False, otpy.Ignore(), otpy.Fail(BOOM), otpy.Reply("to nobody")])
def test_a_cast_may_not_return_a_value(system: otpy.System, value: object) -> None:
    ref = system.start(Doer)
    monitor = ref.monitor()
    ref.cast(Doer.run, lambda _: value)
    assert isinstance(monitor.wait().reason, BadReturn)


@pytest.mark.otp_case(57)
def test_a_bad_return_reaches_terminate_and_the_caller(system: otpy.System) -> None:
    log: list[object] = []
    ref = system.start(Doer, log)
    with pytest.raises(CallExitError) as caught:
        ref.call(Doer.do, lambda _: otpy.Ignore())
    assert caught.value.reason == BadReturn("Ignore()")
    assert log == [("terminate", BadReturn("Ignore()"))]


@pytest.mark.otp_case(64)
def test_a_timeout_fires_once_when_nothing_comes(timed: otpy.System, clock: VirtualClock) -> None:
    ref = timed.start(Doer, deed=lambda _: otpy.NoReply(timeout=0.05))
    clock.advance(0.04)
    assert ref.call(Doer.do, lambda self: otpy.Reply(list(self.log), timeout=0.05)) == []
    clock.advance(1.0)
    assert flush(ref) == ["timeout"]
    clock.advance(1.0)
    assert flush(ref) == ["timeout"]


@pytest.mark.otp_case(64)
@pytest.mark.parametrize("how", ["tell", "cast"])
def test_a_message_cancels_the_timeout(timed: otpy.System, clock: VirtualClock, how: str) -> None:
    """Any message does, and it is not set again by itself."""
    ref = timed.start(Doer, deed=lambda _: otpy.NoReply(timeout=0.05))
    ref.tell("hello") if how == "tell" else ref.cast(Doer.run, lambda self: self.log.append("hello"))
    clock.advance(1.0)
    assert flush(ref) == ["hello"]


@pytest.mark.otp_case(65)
def test_a_timeout_of_nothing_gives_way_to_a_waiting_message(timed: otpy.System, clock: VirtualClock) -> None:
    ref = timed.start(Doer)
    with Gate() as gate:
        ref.cast(Doer.run, lambda _: gate.wait() or otpy.NoReply(timeout=0))
        gate.reached()
        ref.tell("queued")
    clock.advance(1.0)
    assert flush(ref) == ["queued"]
    ref.cast(Doer.run, lambda _: otpy.NoReply(timeout=0))
    clock.advance(0)
    assert flush(ref) == ["queued", "timeout"]


def test_a_timeout_may_be_set_again_by_its_own_handler(timed: otpy.System, clock: VirtualClock) -> None:
    class Ticking(Doer):
        def handle_timeout(self) -> otpy.NoReply:
            self.log.append("tick")
            return otpy.NoReply(timeout=1.0)

    log: list[object] = []
    timed.start(Ticking, log, deed=lambda _: otpy.NoReply(timeout=1.0))
    clock.advance(3.5)
    assert log == ["tick"] * 3


def test_a_kill_while_the_timeout_is_disarmed_ends_it(timed: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own turn may take the timer away between any two looks of whoever kills it."""
    ref = timed.start(Doer, deed=lambda _: otpy.NoReply(timeout=0.05))
    looks = [ref.extras().idle_timer]
    monkeypatch.setattr(Extras, "idle_timer", property(lambda _: looks.pop() if looks else None))
    monitor = ref.monitor()
    ref.kill()
    assert (monitor.wait().reason, looks) == (otpy.Killed(), [])


@pytest.mark.otp_case(66)
def test_an_inspection_does_not_cancel_the_timeout(timed: otpy.System, clock: VirtualClock) -> None:
    """A record asks no actor; suspend and resume go through the lane, not through the mailbox."""
    ref = timed.start(Doer, deed=lambda _: otpy.NoReply(timeout=0.05))
    timed.wait_idle()
    assert timed.record("t/Doer").status == "idle"
    timed.suspend("t/Doer")
    timed.resume("t/Doer")
    clock.advance(0.05)
    assert flush(ref) == ["timeout"]


def test_a_timeout_of_a_dead_actor_is_gone(timed: otpy.System, clock: VirtualClock) -> None:
    ref = timed.start(Doer, deed=lambda _: otpy.NoReply(timeout=1.0))
    ref.kill()
    assert timed.timers.next_due() is None
    clock.advance(2.0)


def test_a_killed_actors_decision_is_void(system: otpy.System) -> None:
    """A zombie's Stop runs no terminate, its Continue does not go on, its timeout is not set."""
    log: list[object] = []
    for decision in (otpy.Stop(BOOM), otpy.Continue("more"), otpy.NoReply(timeout=1.0), "bad"):
        gate = Gate()
        ref = system.start(Doer, log)
        ref.cast(Doer.run, lambda _, gate=gate, decision=decision: gate.wait() or decision)
        gate.reached()
        ref.kill()
        gate.open()
        system.wait_idle()
    assert log == []
    assert system.timers.next_due() is None


@pytest.mark.report("D98", "thejerf/suture#38")
def test_terminate_runs_once_however_often_an_actor_is_told_to_end(system: otpy.System) -> None:
    """It crashes and is stopped at the same time."""
    for _ in range(50):
        log: list[object] = []
        ref = system.start(Doer, log, traps=True)
        monitor = ref.monitor()
        ref.cast(Doer.run, lambda _: otpy.exit(BOOM))
        ref.stop(block=False)
        ref.exit(otpy.Shutdown())
        monitor.wait()
        system.wait_idle()
        assert len([entry for entry in log if isinstance(entry, tuple)]) == 1


@pytest.mark.report("A28", "pathosDev/actor-ts#916")
@pytest.mark.report("B49", "jodal/pykka#187")
@pytest.mark.report("B50", "jodal/pykka#63")
def test_a_crash_is_reported_once_with_what_it_was_doing(system: otpy.System, events: Recorder) -> None:
    ref = system.start(Doer)
    monitor = ref.monitor()
    ref.cast(Doer.run, divmod, 1)
    monitor.wait()
    [event] = events.of(ActorCrashed)
    assert (event.path, event.kind, event.message) == ("t/Doer", "Doer", "cast run(<function divmod>, 1)")
    assert "TypeError" in str(event)


def test_a_clean_end_is_no_crash(system: otpy.System, events: Recorder) -> None:
    for reason in (otpy.Normal(), otpy.Shutdown(), otpy.Shutdown("detail")):
        system.start(Doer).stop(reason)
    assert events.of(ActorCrashed) == []


@pytest.mark.parametrize("name", ["boot", "make", "on_info", "stop", "handle_info"])
def test_a_request_cannot_take_the_name_of_a_method_that_otpy_has(name: str) -> None:
    with pytest.raises(TypeError, match=f"Mine.{name} cannot be a request"):
        type("Mine", (otpy.GenServer,), {name: otpy.call(lambda self: None)})


def test_a_subclass_may_serve_a_request_of_its_base(system: otpy.System) -> None:
    class Base(otpy.GenServer):
        @otpy.call
        def answer(self) -> int:
            return 1

    class Mine(Base):
        @otpy.call
        def answer(self) -> int:
            return 2

    assert system.start(Mine).call(Base.answer) == 2


@pytest.mark.parametrize("wrong", [None, "boom", 3, otpy.Exit])
def test_a_reason_that_is_none_is_refused_where_it_is_written(system: otpy.System, wrong: Any) -> None:
    """With the reason None an actor lost its links and its name, its watchers heard of its end, and it lived on."""
    for deed in (lambda _: otpy.Stop(wrong), lambda _: otpy.exit(wrong)):
        ref = system.start(Doer)
        monitor = ref.monitor()
        ref.cast(Doer.run, deed)
        reason = monitor.wait().reason
        assert isinstance(reason, Crashed)
        assert "expected a reason such as otpy.Exit(" in reason.text
        assert not ref.is_alive()
    ref = system.start(Doer)
    with pytest.raises(TypeError, match="expected a reason"):
        ref.exit(wrong)
    if wrong is not None:
        with pytest.raises(TypeError, match="expected a reason"):
            ref.stop(wrong)
    assert ref.is_alive()


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])  # noqa: S301 - its own
def test_a_stop_without_a_reply_has_none_in_a_copy_either(again: Callable[[otpy.Stop], otpy.Stop]) -> None:
    assert not again(otpy.Stop()).has_reply
    assert again(otpy.Stop()) == otpy.Stop()
    assert again(otpy.Stop(reply=None)).has_reply
    assert repr(otpy.Stop()) == "Stop(reason=Normal(), reply=<not given>)"
