"""Races that were there once, forced: one party is held at the critical moment while the other acts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.runtime import death, idle_timeout, turn
from otpy.runtime.mailbox import rest
from otpy.testing import Gate
from support.doer import BOOM, Doer, flush

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.runtime.ref import Ref


def has_left(ref: Ref[Doer]) -> bool:
    """Whether nothing of a dead actor is held any more, nor ever will be by a later turn."""
    return ref.actor is None and ref.current is None and not ref.tok and ref not in ref.system.undead


class Hooked(dict[Any, Any]):
    """A table that calls back once, when something is put into it."""

    def __init__(self, hook: Callable[[], None]) -> None:
        super().__init__()
        self.hook: Callable[[], None] | None = hook

    def __setitem__(self, key: object, value: object) -> None:
        super().__setitem__(key, value)
        hook, self.hook = self.hook, None
        if hook is not None:
            hook()


def test_a_turn_that_ends_between_a_kills_reason_and_its_alert(system: otpy.System) -> None:
    """The turn puts `tok` back and sees no alert; so the killer must look at `tok` once more, or nobody leaves."""
    ref = system.start(Doer)
    system.wait_idle()
    ref.tok.pop()  # the turn runs

    def turn_ends() -> None:
        assert ref.reason is not None
        ref.alert = False
        rest(ref)

    system.undead = Hooked(turn_ends)
    assert ref.kill()
    system.wait_idle()
    assert has_left(ref)


@pytest.mark.parametrize("end", ["raises", "decides", "defers"])
def test_a_turn_that_ends_before_its_killer_looks_at_it(system: otpy.System, end: str) -> None:
    """Between a kill's reason and its look at the current message the turn may end: its caller must hear of it."""
    ref = system.start(Doer)
    gate = Gate()

    def outcome(self: Doer) -> Any:
        gate.wait()
        if end == "raises":
            self.send_after(0.0, "x")  # it is fenced off
        return otpy.Stop() if end == "decides" else otpy.NoReply()

    future = ref.ask(lambda actor, _: outcome(actor), block=False)
    gate.reached()

    def turn_ends() -> None:
        assert ref.reason is not None
        ref.alert = False
        gate.open()
        while ref.actor is not None and not ref.tok:
            pass  # until it has left, or rests

    system.undead = Hooked(turn_ends)
    assert ref.kill()
    with pytest.raises(otpy.errors.CallExitError) as caught:
        future.get(timeout=5)
    assert caught.value.reason == otpy.Killed()
    system.wait_idle()
    assert has_left(ref)


def test_a_kill_while_a_turn_cancels_its_timeout(system: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    """The turn must not lower the alert that the killer has raised in the meantime."""
    ref = system.start(Doer, deed=lambda _: otpy.NoReply(timeout=60.0))
    disarm = idle_timeout.disarm_timeout

    def disarm_late(own: Ref[Any], message: Any) -> bool:
        if message is not None:
            own.kill()
        return disarm(own, message)

    monkeypatch.setattr(idle_timeout, "disarm_timeout", disarm_late)
    ref.cast(Doer.run, lambda _: None)
    system.wait_idle()
    assert has_left(ref)
    assert system.zombies() == []


def test_an_exit_signal_while_a_turn_cancels_its_timeout(system: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends the actor before the next message, not some time later."""
    log: list[object] = []
    ref = system.start(Doer, log, deed=lambda _: otpy.NoReply(timeout=60.0))
    disarm = idle_timeout.disarm_timeout

    def disarm_late(own: Ref[Any], message: Any) -> bool:
        if message is not None:
            own.tell("must not be handled")
            own.exit(BOOM)
        return disarm(own, message)

    monkeypatch.setattr(idle_timeout, "disarm_timeout", disarm_late)
    ref.cast(Doer.run, lambda _: None)
    system.wait_idle()
    assert ref.reason == BOOM
    assert log == []


@pytest.mark.parametrize("first", ["kill", "exit"])
def test_two_that_end_an_idle_actor_at_once(system: otpy.System, monkeypatch: pytest.MonkeyPatch, first: str) -> None:
    """The first takes `tok`, the second is quicker to give the reason: who holds `tok` must leave all the same."""
    ref = system.start(Doer)
    ref.more = None
    system.wait_idle()
    finish, again = death.finish, [True]

    def finish_second(own: Ref[Any], reason: otpy.Reason, **options: Any) -> bool:
        if again and again.pop():
            assert own.kill()
        return finish(own, reason, **options)

    monkeypatch.setattr(death, "finish", finish_second)
    if first == "kill":
        assert not ref.kill()
    else:
        ref.exit(BOOM)
    system.wait_idle()
    assert ref.reason == otpy.Killed()
    assert has_left(ref)


def test_a_kill_just_before_a_message_is_handled(system: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message was taken out of the mailbox, and nobody has seen it yet: its caller must hear of the death."""
    log: list[object] = []
    ref = system.start(Doer, log)
    attend = turn.attend

    def attend_late(own: Ref[Any], message: Any = None) -> bool:
        if message is not None:
            own.kill()
            return attend(own, message)
        goes_on = attend(own, message)
        own.alert = True  # so that it looks again once it has taken the message
        return goes_on

    monkeypatch.setattr(turn, "attend", attend_late)
    ref.alert = True
    with pytest.raises(otpy.errors.CallExitError) as caught:
        ref.call(Doer.do, lambda self: self.log.append("handled"))
    assert caught.value.reason == otpy.Killed()
    system.wait_idle()
    assert log == []
    assert has_left(ref)


def test_a_suspension_just_before_a_message_is_handled(system: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message was taken out of the mailbox: it is put back, and is the first one when the actor goes on."""
    log: list[object] = []
    ref = system.start(Doer, log)
    attend, suspending = turn.attend, [True]

    def attend_late(own: Ref[Any], message: Any = None) -> bool:
        if message is not None and suspending:
            suspending.clear()
            own.extras().suspended = True
            own.tell("second")
        goes_on = attend(own, message)
        own.alert = own.alert or bool(suspending)  # so that it looks again once it has taken the message
        return goes_on

    monkeypatch.setattr(turn, "attend", attend_late)
    ref.alert = True
    ref.tell("first")
    system.wait_idle()
    assert (log, len(ref.mailbox or ())) == ([], 2)
    system.resume("t/Doer")
    assert flush(ref) == ["first", "second"]


def test_the_name_is_free_when_the_first_hears_of_an_end(system: otpy.System) -> None:
    """Whoever sees the Down may start the replacement under the same name."""
    ref = system.start(otpy.child(Doer).opts(name="it"))
    seen: list[object] = []

    class Watch(otpy.Monitor):
        def fire(self, reason: otpy.Reason) -> None:
            seen.append((system.whereis("it"), ref.is_alive(), reason))

    ref.monitors = {Watch(ref, ref, None): None}
    ref.kill()
    assert seen == [(None, False, otpy.Killed())]


def test_a_zombie_is_fenced_before_anybody_hears_of_its_death(system: otpy.System) -> None:
    """Whoever sees the Down may start the replacement: from then on nothing of the old one may get through."""
    ref = system.start(Doer)
    system.wait_idle()
    ref.tok.pop()  # a turn runs
    ref.current = "something"
    seen: list[bool] = []

    class Watch(otpy.Monitor):
        def fire(self, reason: otpy.Reason) -> None:
            seen.append(ref in system.undead)

    ref.monitors = {Watch(ref, ref, None): None}
    ref.kill()
    assert seen == [True]
    death.leave(ref)


def test_a_message_that_comes_as_a_turn_ends(system: otpy.System) -> None:
    """Append, then look at `tok`; put `tok` back, then look at the mailbox: one of the two sees the other."""
    ref = system.start(Doer)
    for number in range(3_000):
        ref.tell(number)
        if number % 2:
            flush(ref)
    assert flush(ref) == list(range(3_000))
