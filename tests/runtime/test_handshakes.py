"""Starting from within an actor: when the starter goes on, what it gets, and that it gets nothing else."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.reason import BadReturn
from otpy.errors import StartError
from otpy.testing import Probe
from support.doer import BOOM, Doer, flush

if TYPE_CHECKING:
    from otpy.testing import VirtualClock


@pytest.mark.otp_case(32)
@pytest.mark.parametrize("place", ["pool", "thread"])
def test_a_starter_goes_on_when_init_is_done_and_no_sooner(timed: otpy.System, clock: VirtualClock, place: Any) -> None:
    seen: list[object] = []
    starter = timed.start(Doer)
    slow = otpy.child(Doer, deed=lambda _: otpy.sleep(1.0)).opts(place=place)
    starter.cast(Doer.run, lambda self: seen.append(self.spawn_link(slow).is_alive()))
    clock.advance(0.99)
    assert seen == []
    clock.advance(0.01)
    timed.wait_idle()
    assert seen == [True]


def failing(_: Doer) -> None:
    raise ValueError("init")


@pytest.mark.otp_case(33, 34, 37)
@pytest.mark.parametrize(
    "deed",
    [lambda _: None, lambda _: otpy.Ignore(), lambda _: otpy.Stop(BOOM), lambda _: otpy.Fail(BOOM), failing],
    ids=["well", "ignore", "stop", "fail", "crash"],
)
def test_a_starter_that_traps_finds_nothing_of_a_start_in_its_mailbox(system: otpy.System, deed: Any) -> None:
    """As of OTP 26; before, the exit of a start that failed was left there."""
    starter = system.start(Doer, traps=True)

    def spawn(self: Doer) -> None:
        with suppress(StartError):
            self.spawn_link(Doer, deed=deed)

    starter.call(Doer.do, spawn)
    assert flush(starter) == []


@pytest.mark.otp_case(34, 36, 37, 38)
@pytest.mark.parametrize(
    ("deed", "kind"),
    [
        (lambda _: otpy.Ignore(), otpy.Normal),
        (lambda _: otpy.Fail(BOOM), otpy.Normal),
        (lambda _: otpy.Stop(BOOM), otpy.Exit),
        (lambda _: "foo", BadReturn),
        (failing, otpy.Crashed),
    ],
    ids=["ignore", "fail", "stop", "junk", "crash"],
)
def test_an_actor_whose_start_failed_has_ended_with_a_reason_of_its_own(
    system: otpy.System, deed: Any, kind: type[otpy.Reason]
) -> None:
    refs: list[otpy.Ref[Doer]] = []
    with pytest.raises(StartError):
        system.start(Doer, deed=lambda self: refs.append(self.ref) or deed(self))
    assert isinstance(refs[0].reason, kind)


@pytest.mark.otp_case(36)
def test_a_starter_that_does_not_catch_a_failed_start_ends_by_that_error(system: otpy.System) -> None:
    """In OTP it dies of the link, with the child's own reason; here the link is gone, and the error is a crash."""
    starter = system.start(Doer)
    monitor = starter.monitor()
    starter.cast(Doer.run, lambda self: self.spawn_link(Doer, deed=lambda _: otpy.Stop(BOOM)))
    reason = monitor.wait().reason
    assert isinstance(reason, otpy.Crashed)
    assert reason.type.endswith("StartError")
    assert "boom" in reason.text


@pytest.mark.otp_case(46)
def test_who_starts_and_monitors_sees_the_end(system: otpy.System) -> None:
    watcher = Probe(system)
    ref = system.start(Doer)
    monitor = watcher.monitor(ref)
    ref.stop(otpy.Shutdown("enough"))
    [down] = watcher.expect(1)
    assert down == otpy.Down(monitor, ref, otpy.Shutdown("enough"))


@pytest.mark.otp_case(41)
@pytest.mark.parametrize("place", ["pool", "thread"])
@pytest.mark.parametrize("result", [None, otpy.Continue("later"), otpy.Ignore()], ids=str)
def test_an_exit_signal_during_init_fails_the_start_with_its_reason(
    system: otpy.System, place: Any, result: Any
) -> None:
    """The init itself goes on to its end: nothing cuts the code that runs."""
    done: list[object] = []

    def deed(self: Doer) -> object:
        self.ref.exit(BOOM)
        done.append(self.ref)
        return result

    with pytest.raises(StartError) as failure:
        system.start(otpy.child(Doer, deed=deed).opts(place=place))
    assert failure.value.reason == BOOM
    [ref] = done
    assert ref.reason == BOOM
    assert system.alive == 0


@pytest.mark.otp_case(41)
def test_an_exit_signal_that_init_traps_is_a_message_to_it(system: otpy.System) -> None:
    ref = system.start(Doer, traps=True, deed=lambda self: self.ref.exit(BOOM) and None)
    assert [message.reason for message in flush(ref)] == [BOOM]
