"""The start handshake: a start returns when `init` is done, or raises what became of it, and leaves nothing."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

import otpy
from otpy.core.reason import BadReturn
from otpy.errors import IgnoredError, SpecError, StartError, StartTimeoutError, SystemStoppedError
from otpy.events import ActorCrashed
from otpy.runtime.birth import begin
from otpy.runtime.spawn import new_ref
from otpy.testing import Gate, Probe, Recorder, VirtualClock
from support.doer import BOOM, Doer, flush
from support.leaving import Leaving


@pytest.mark.otp_case(32)
@pytest.mark.report("A46", "linkdd/triotp")
def test_a_start_returns_after_init(system: otpy.System) -> None:
    log: list[object] = []
    system.start(Doer, log, deed=lambda self: self.log.append("init"))
    assert log == ["init"]


def _fails(system: otpy.System, deed: object, **options: object) -> StartError:
    """Start an actor that does not start; nothing of it may be left."""
    with pytest.raises(StartError) as caught:
        system.start(otpy.child(Doer, deed=deed).opts(name="it", **options))
    assert system.whereis("it") is None
    assert system.find("t/Doer") is None
    assert system.alive == 0
    return caught.value


@pytest.mark.otp_case(34)
def test_an_ignored_start_is_no_crash(system: otpy.System, events: Recorder) -> None:
    error = _fails(system, lambda _: otpy.Ignore())
    assert isinstance(error, IgnoredError)
    assert error.reason == otpy.Normal()
    assert events.events == []


@pytest.mark.otp_case(36)
def test_a_stop_from_init_is_the_starts_failure(system: otpy.System, events: Recorder) -> None:
    assert _fails(system, lambda _: otpy.Stop(BOOM)).reason == BOOM
    [event] = events.of(ActorCrashed)
    assert event.reason == BOOM


@pytest.mark.otp_case(37)
def test_a_fail_from_init_is_the_starts_failure_and_no_crash(system: otpy.System, events: Recorder) -> None:
    """As of OTP 26."""
    assert _fails(system, lambda _: otpy.Fail(BOOM)).reason == BOOM
    assert events.events == []


@pytest.mark.otp_case(38)
@pytest.mark.parametrize("value", ["foo", 0, otpy.Reply(1)])
def test_another_return_of_init_is_refused(system: otpy.System, value: object) -> None:
    assert isinstance(_fails(system, lambda _: value).reason, BadReturn)


def test_a_place_of_a_class_that_there_is_not_is_refused_before_anything_starts(system: otpy.System) -> None:
    class Far(Doer):
        place = "proces"

    with pytest.raises(SpecError, match=r"Far\.place='proces': did you mean 'process'\?"):
        system.start(Far)
    assert system.alive == 0


class Odd(BaseException):
    pass


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt, Odd, GeneratorExit])
@pytest.mark.parametrize("place", ["pool", "thread"])
@pytest.mark.report("B65", "tqwewe/kameo#340")
def test_whatever_init_raises_fails_this_start_only(
    system: otpy.System, error: type[BaseException], place: str
) -> None:
    def fail(_: Doer) -> None:
        raise error("in init")

    reason = _fails(system, fail, place=place).reason
    assert isinstance(reason, otpy.Crashed)
    assert reason.type.endswith(error.__name__)


def test_an_exit_from_init_is_the_starts_failure(system: otpy.System) -> None:
    assert _fails(system, lambda _: otpy.exit(BOOM)).reason == BOOM


def test_wrong_arguments_fail_the_start(system: otpy.System) -> None:
    for args in ((1, 2, 3), ()):
        with pytest.raises(StartError, match="TypeError"):
            system.start(otpy.GenServer if args else NeedsOne, *args)
    assert system.alive == 0


class NeedsOne(otpy.GenServer):
    def init(self, one: object) -> None:
        """Take one argument."""


@pytest.mark.otp_case(40)
@pytest.mark.parametrize("place", ["pool", "thread"])
@pytest.mark.report("A44", "basiltt/xstate-statemachine#181", "basiltt/xstate-statemachine#194")
def test_an_init_that_takes_too_long_is_killed_and_its_starter_lives(
    place: str, clock: VirtualClock, timed: otpy.System
) -> None:
    """A non-trapping parent lives, and nothing stray is in its mailbox."""
    gate = Gate()
    parent = timed.start(Doer)
    spec = otpy.child(Doer, deed=lambda _: gate.wait()).opts(name="slow", start_timeout=0.05, place=place)

    def spawn(self: Doer) -> None:
        with pytest.raises(StartTimeoutError, match=r"took longer than 0\.05 s"):
            self.spawn_link(spec)
        self.log.append("lives on")

    parent.cast(Doer.run, spawn)
    gate.reached()
    clock.advance(0.05)
    assert flush(parent) == ["lives on"]
    assert timed.whereis("slow") is None
    assert [zombie.path for zombie in timed.zombies()] == ["t/Doer/Doer"]
    gate.open()
    timed.wait_idle()
    assert timed.zombies() == []


def test_the_time_for_a_start_does_not_outlive_it(clock: VirtualClock, timed: otpy.System) -> None:
    ref = timed.start(otpy.child(Doer).opts(start_timeout=5.0))
    assert timed.timers.next_due() is None
    clock.advance(10)
    assert ref.is_alive()


@pytest.mark.otp_case(41)
def test_an_init_that_is_killed_fails_the_start(system: otpy.System) -> None:
    """At once, whatever init does."""
    gate = Gate()
    spec = otpy.child(Doer, deed=lambda _: gate.wait()).opts(name="it")
    errors: list[StartError] = []

    def start() -> None:
        with pytest.raises(StartError) as caught:
            system.start(spec)
        errors.append(caught.value)

    thread = threading.Thread(target=start)
    thread.start()
    gate.reached()
    assert system.ref("it").kill()
    thread.join(30)
    assert errors[0].reason == otpy.Killed()
    gate.open()


def test_a_kill_between_birth_and_init_fails_the_start(system: otpy.System) -> None:
    """The name is known before `init` has begun: who kills it then must not leave its starter waiting for ever."""
    spec = otpy.child(Doer, deed=lambda self: self.log.append("ran"))
    told: list[object] = []
    for after_birth in (True, False):
        ref = new_ref(system, Doer, spec, "early", None)
        if after_birth:
            ref.kill()
        begin(ref, (), {}, told.append)
        if not after_birth:
            ref.kill()
        system.wait_idle()
    assert [type(outcome) for outcome in told] == [StartError, StartError] or told[1] is None
    assert isinstance(told[0], StartError)
    assert told[0].reason == otpy.Killed()
    assert system.zombies() == []


def test_an_exit_signal_from_another_thread_during_init_fails_the_start(system: otpy.System) -> None:
    """Semantics 1.6: a callback that runs is not cut; the starter learns of it when it is done."""
    gate = Gate()
    spec = otpy.child(Doer, deed=lambda _: gate.wait()).opts(name="it")
    failures: list[StartError] = []

    def start() -> None:
        try:
            system.start(spec)
        except StartError as error:
            failures.append(error)

    thread = threading.Thread(target=start)
    thread.start()
    gate.reached()
    system.ref("it").whereis().exit(BOOM)  # type: ignore[union-attr]
    gate.open()
    thread.join(30)
    assert [error.reason for error in failures] == [BOOM]
    assert system.whereis("it") is None


def test_a_parent_hears_of_its_childs_later_end(system: otpy.System) -> None:
    parent = Probe(system, trap_exit=True)
    child = parent.ref.proxy().spawn_link(Doer).get(timeout=5)
    child.exit(BOOM)
    [signal] = parent.expect(1)
    assert (signal.sender, signal.reason) == (child, BOOM)  # type: ignore[attr-defined]


def test_a_starter_that_is_told_to_end_does_not_wait_for_its_childs_init(system: otpy.System) -> None:
    gate = Gate()
    parent = system.start(Doer)
    parent.cast(Doer.run, lambda self: self.spawn_link(Doer, deed=lambda _: gate.wait()) and None)
    gate.reached()
    monitor = parent.monitor()
    parent.exit(BOOM)
    assert monitor.wait().reason == BOOM
    gate.open()
    system.wait_idle()
    assert system.alive == 0


def test_what_is_no_actor_is_refused_before_anything_starts(system: otpy.System) -> None:
    for what in (dict, 3, object()):
        with pytest.raises(otpy.errors.SpecError):
            system.start(what)  # type: ignore[arg-type]
    assert system.alive == 0


def test_a_stopped_system_starts_nothing(system: otpy.System) -> None:
    system.stop()
    with pytest.raises(SystemStoppedError):
        system.start(Doer)


def test_actors_are_not_started_as_pykkas_are(system: otpy.System) -> None:
    with pytest.raises(TypeError, match=r"system\.start\(Doer"):
        Doer.start()


def test_a_root_that_ends_while_somebody_starts_beside_it_fails_no_start(system: otpy.System) -> None:
    root: Any = Leaving(SimpleNamespace(otpy_children=lambda: None))
    system.root = root

    ref = system.start(Doer)

    system.root = None
    assert ref.is_alive()
