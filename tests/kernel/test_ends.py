"""How actors of every place end: by themselves, by exit signals and kills of others, and what they say before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.reason import BadReturn
from otpy.errors import CallExitError, CallTimeoutError
from otpy.events import ActorCrashed, DeadLetter, ZombieEnded, ZombieMade
from otpy.testing import Recorder
from support import deeds
from support.stage import BOOM, do, ends, one_of, run, seen, tell_to
from support.steps import named

if TYPE_CHECKING:
    from support.stage import Place, Stage

REASONS = [BOOM, otpy.Shutdown(), otpy.Shutdown("x"), otpy.Killed(), otpy.NoProc()]
LAST: list[tuple[Any, ...]] = [(deeds.leave, BOOM), (deeds.kill_self,), (deeds.fail, "oops")]
SENDS = [run, tell_to]


# --- by itself


@pytest.mark.otp_case(2, 181)
@pytest.mark.parametrize("send", SENDS)
def test_an_error_that_escapes_is_the_reason(stage: Stage, place: Place, events: Recorder, send: object) -> None:
    """Reported once, after `terminate` has run."""
    notes = stage.notes()
    ref = stage.start(place, log=notes)
    reason = ends(ref, lambda: send(ref, deeds.fail, "oops"))  # type: ignore[operator]
    assert isinstance(reason, otpy.Crashed)
    assert (reason.type, reason.text) == ("ValueError", "oops")
    assert "raise ValueError(text)" in str(reason.traceback)
    assert notes.so_far() == [("terminate", reason)]
    [event] = events.of(ActorCrashed)
    assert (event.path, event.reason, event.kind) == (ref.path, reason, place.cls.__name__)


@pytest.mark.otp_case(230)
def test_the_wish_to_end_the_program_ends_the_actor_alone(stage: Stage, place: Place) -> None:
    ref, other = stage.start(place), stage.start(place)
    reason = ends(ref, lambda: run(ref, deeds.quit_program, "3"))
    assert isinstance(reason, otpy.Crashed)
    assert reason.type == "SystemExit"
    assert do(other, deeds.echo, 1) == 1


@pytest.mark.parametrize("reason", [*REASONS, otpy.Normal(), otpy.Kill()], ids=str)
@pytest.mark.parametrize("deed", [deeds.leave, deeds.stop])
def test_an_actor_may_end_for_any_reason(stage: Stage, place: Place, deed: object, reason: otpy.Reason) -> None:
    notes = stage.notes()
    ref = stage.start(place, log=notes)
    assert ends(ref, lambda: run(ref, deed, reason)) == reason  # type: ignore[arg-type]
    assert notes.so_far() == [("terminate", reason)]


@pytest.mark.otp_case(57)
def test_a_bad_return_is_the_reason(stage: Stage, place: Place) -> None:
    notes = stage.notes()
    ref = stage.start(place, log=notes)
    assert ends(ref, lambda: run(ref, deeds.echo, "oops")) == BadReturn("'oops'")
    assert notes.so_far() == [("terminate", BadReturn("'oops'"))]


def test_an_error_in_terminate_is_the_reason(stage: Stage, place: Place) -> None:
    ref = stage.start(place)
    do(ref, deeds.end_with, deeds.fail, "last")
    reason = ends(ref, lambda: run(ref, deeds.stop, otpy.Normal()))
    assert isinstance(reason, otpy.Crashed)
    assert reason.text == "last"


# --- told to stop


@pytest.mark.otp_case(70)
@pytest.mark.report("B53", "jodal/pykka#46")
@pytest.mark.parametrize("reason", [otpy.Normal(), BOOM], ids=str)
def test_a_stop_waits_behind_what_was_sent_before(stage: Stage, place: Place, reason: otpy.Reason) -> None:
    notes = stage.notes()
    ref = stage.start(place, log=notes)
    for number in range(3):
        ref.tell(number)
    assert ref.stop(reason) is True
    assert notes.so_far() == [0, 1, 2, ("terminate", reason)]
    assert ref.stop() is False


def test_actors_stop_each_other(stage: Stage, one: Place, other: Place) -> None:
    stopper, stopped = stage.start(one), stage.start(other)
    assert do(stopper, deeds.stop_other, stopped) is True
    assert stopped.reason == otpy.Normal()
    assert do(stopper, deeds.stop_other, stopped) is False


@pytest.mark.otp_case(68)
def test_a_stop_that_ends_otherwise_tells_how(stage: Stage, place: Place) -> None:
    ref = stage.start(place)
    do(ref, deeds.end_with, deeds.leave, BOOM)
    with pytest.raises(CallExitError) as caught:
        ref.stop()
    assert caught.value.reason == BOOM


@pytest.mark.otp_case(69)
def test_a_stop_that_times_out_goes_on(stage: Stage, place: Place) -> None:
    ref, gate = stage.start(place), stage.barrier()
    run(ref, deeds.hold, gate.ref)
    gate.reached()
    with pytest.raises(CallTimeoutError):
        ref.stop(timeout=0.02)
    assert ends(ref, gate.open) == otpy.Normal()


def test_an_actor_may_tell_itself_to_stop(stage: Stage, place: Place) -> None:
    ref = stage.start(place)
    assert ends(ref, lambda: run(ref, deeds.stop_self)) == otpy.Normal()


# --- by signals


@pytest.mark.otp_case(6, 60)
@pytest.mark.parametrize("reason", REASONS, ids=str)
def test_an_exit_signal_ends_who_does_not_trap_without_terminate(
    stage: Stage, place: Place, reason: otpy.Reason
) -> None:
    notes = stage.notes()
    ref = stage.start(place, log=notes)
    assert ends(ref, lambda: ref.exit(reason)) == reason
    assert notes.so_far() == []


@pytest.mark.otp_case(5, 6, 61)
def test_actors_send_each_other_exit_signals(stage: Stage, one: Place, other: Place) -> None:
    """A message to who traps, the end of who does not."""
    reason = one_of([BOOM, otpy.Shutdown("x"), otpy.Killed()], one, other)
    sender, plain, trapping = stage.start(one), stage.start(other), stage.start(other, traps=True)
    do(sender, deeds.end, trapping, reason)
    assert seen(trapping, 1) == [("exit", sender.path, reason)]
    assert ends(plain, lambda: run(sender, deeds.end, plain, reason)) == reason


def test_normal_from_another_ends_nobody(stage: Stage, one: Place, other: Place) -> None:
    sender, plain, trapping = stage.start(one), stage.start(other), stage.start(other, traps=True)
    do(sender, deeds.end, plain, otpy.Normal())
    do(sender, deeds.end, trapping, otpy.Normal())
    assert seen(plain) == []
    assert seen(trapping, 1) == [("exit", sender.path, otpy.Normal())]


def test_normal_from_outside_of_all_actors_is_as_from_another(stage: Stage, place: Place) -> None:
    plain, trapping = stage.start(place), stage.start(place, traps=True)
    plain.exit(otpy.Normal())
    trapping.exit(otpy.Normal())
    assert seen(plain) == []
    assert seen(trapping, 1) == [("exit", trapping.path, otpy.Normal())]


@pytest.mark.otp_case(8)
def test_normal_to_oneself_ends_who_does_not_trap(stage: Stage, place: Place) -> None:
    plain, trapping = stage.start(place), stage.start(place, traps=True)
    assert ends(plain, lambda: run(plain, deeds.exit_self, otpy.Normal())) == otpy.Normal()
    do(trapping, deeds.exit_self, otpy.Normal())
    assert seen(trapping, 1) == [("exit", trapping.path, otpy.Normal())]


@pytest.mark.otp_case(26)
def test_no_longer_trapping_leaves_what_has_arrived(stage: Stage, place: Place) -> None:
    ref = stage.start(place, traps=True)
    do(ref, deeds.both, (named(deeds.exit_self), BOOM), (named(deeds.trap_no_more),))
    assert seen(ref, 1) == [("exit", ref.path, BOOM)]


def test_trapping_begins_when_it_is_said(stage: Stage, place: Place) -> None:
    ref = stage.start(place)
    do(ref, deeds.trap)
    ref.exit(BOOM)
    assert seen(ref, 1) == [("exit", ref.path, BOOM)]


def test_an_exit_signal_overtakes_the_messages_of_who_does_not_trap(stage: Stage, place: Place) -> None:
    """Semantics 1.6."""
    notes, gate = stage.notes(), stage.barrier()
    ref = stage.start(place, log=notes)
    run(ref, deeds.hold, gate.ref)
    gate.reached()
    ref.tell("never seen")
    assert ends(ref, lambda: ref.exit(BOOM)) == BOOM
    assert notes.so_far() == []


@pytest.mark.otp_case(30)
def test_who_traps_does_what_came_before_its_parents_exit_and_nothing_after(
    stage: Stage, parent: Place, child: Place
) -> None:
    notes, gate = stage.notes(), stage.barrier()
    starter = stage.start(parent, log=notes)
    do(starter, deeds.spawn_trapping, "child", child.name)
    do(starter, deeds.to_kept, "child", deeds.cast, named(deeds.hold), gate.ref)
    gate.reached()
    do(starter, deeds.to_kept, "child", deeds.tell, 1, 2)
    do(starter, deeds.to_kept, "child", deeds.unlink)
    do(starter, deeds.to_kept, "child", deeds.end, otpy.Shutdown())
    do(starter, deeds.to_kept, "child", deeds.tell, 3)
    gate.open()
    assert notes.expect(3) == [1, 2, ("terminate", otpy.Shutdown())]
    assert seen(starter) == []


@pytest.mark.otp_case(60, 62)
def test_an_exit_signal_of_the_parent_ends_who_traps_by_way_of_terminate(
    stage: Stage, parent: Place, child: Place
) -> None:
    reason = one_of([otpy.Shutdown(), otpy.Normal(), BOOM], parent, child)
    notes = stage.notes()
    starter = stage.start(parent, log=notes, traps=True)
    do(starter, deeds.spawn_trapping, "child", child.name)
    do(starter, deeds.to_kept, "child", deeds.end, reason)
    assert notes.expect(2) == [("terminate", reason), ("exit", f"{starter.path}/child", reason)]


@pytest.mark.otp_case(60)
def test_shutdown_from_the_parent_ends_who_does_not_trap_without_terminate(
    stage: Stage, parent: Place, child: Place
) -> None:
    notes = stage.notes()
    starter = stage.start(parent, log=notes, traps=True)
    do(starter, deeds.spawn, "child", child.name)
    do(starter, deeds.to_kept, "child", deeds.end, otpy.Shutdown())
    assert notes.expect(1) == [("exit", f"{starter.path}/child", otpy.Shutdown())]


# --- by kills


@pytest.mark.otp_case(4)
def test_kill_ends_also_who_traps_and_no_terminate_runs(stage: Stage, one: Place, other: Place) -> None:
    traps = one_of([True, False, True], one, other)
    notes = stage.notes()
    killer, victim = stage.start(one), stage.start(other, log=notes, traps=traps)
    assert ends(victim, lambda: do(killer, deeds.kill, victim)) == otpy.Killed()
    assert notes.so_far() == []
    assert not victim.is_alive()


def test_an_exit_signal_kill_is_a_kill(stage: Stage, one: Place, other: Place) -> None:
    killer, victim = stage.start(one), stage.start(other, traps=True)
    assert ends(victim, lambda: do(killer, deeds.end, victim, otpy.Kill())) == otpy.Killed()


def test_an_actor_may_kill_itself(stage: Stage, place: Place) -> None:
    notes = stage.notes()
    ref = stage.start(place, log=notes, traps=True)
    assert ends(ref, lambda: run(ref, deeds.kill_self)) == otpy.Killed()
    assert notes.so_far() == []


@pytest.mark.parametrize("end", [otpy.Kill(), BOOM], ids=str)
def test_what_waits_inside_otpy_is_freed_by_its_end(
    stage: Stage, place: Place, events: Recorder, monkeypatch: pytest.MonkeyPatch, end: otpy.Reason
) -> None:
    """A call, a sleep, a wait for another's end: no zombie is left."""
    monkeypatch.setattr("otpy.runtime.death.LAST_BREATH", 60.0)  # a busy machine may need more than the usual tenth
    server, gate = stage.start(place), stage.barrier()
    waits = [(deeds.hold, gate.ref), (deeds.sleep, 1e6), (deeds.wait_for_end, server)]
    for deed, *args in waits:
        ref = stage.start(place)
        run(ref, deed, *args)
        stage.system.wait_idle()  # it waits now: one that is still on its way there is a zombie for a moment
        expected = otpy.Killed() if isinstance(end, otpy.Kill) else end
        assert ends(ref, lambda ref=ref: ref.exit(end)) == expected  # type: ignore[misc]
    stage.system.wait_idle()
    assert stage.system.zombies() == []
    assert events.of(ZombieMade) == []


@pytest.mark.otp_case(231)
def test_a_kill_is_seen_at_once_though_the_code_is_stuck(stage: Stage, place: Place, events: Recorder) -> None:
    """Its name is free, whoever watches is told, its callers are told; where code cannot be stopped it is listed."""
    gate, name = stage.barrier(), "it"
    ref = stage.start(place, name=name)
    run(ref, deeds.be_stuck, gate.ref)
    gate.reached()
    do(stage.start(place), deeds.echo, 1)  # on a loop: it has come to where it can be cancelled
    future = ref.ask("x", block=False)
    assert ends(ref, ref.kill) == otpy.Killed()
    assert stage.system.whereis(name) is None
    with pytest.raises(CallExitError, match="killed"):
        future.get(timeout=5)
    assert do(stage.start(place, name=name), deeds.echo, 1) == 1
    assert [event.path for event in events.of(ZombieMade)] == [ref.path] * place.kill_leaves_zombie
    with Recorder(stage.system, ZombieEnded) as ended:
        deeds.RELEASE.set()
        assert [event.path for event in ended.expect(place.kill_leaves_zombie)] == [ref.path] * place.kill_leaves_zombie
    stage.system.wait_idle()
    assert stage.system.zombies() == []


# --- what is said before, and what is left over


@pytest.mark.otp_case(25)
def test_what_an_actor_sent_is_seen_before_its_end(stage: Stage, one: Place, other: Place) -> None:
    """By who is linked to it and by who watches it."""
    victim, watcher = stage.start(one), stage.start(other, traps=True)
    do(watcher, deeds.link, victim)
    do(watcher, deeds.watch, victim)
    deed, *args = one_of(LAST, one, other)
    assert ends(victim, lambda: run(victim, deeds.both, (named(deeds.tell), watcher, 1, 2), (named(deed), *args)))
    heard = seen(watcher, 4)
    assert heard[:2] == [1, 2]
    assert sorted(one[0] for one in heard[2:]) == ["down", "exit"]


@pytest.mark.otp_case(234)
def test_an_end_is_seen_when_terminate_is_over(stage: Stage, place: Place) -> None:
    gate, notes = stage.barrier(), stage.notes()
    ref = stage.start(place, log=notes, name="it")
    do(ref, deeds.end_with, deeds.hold, gate.ref)
    monitor = ref.monitor()
    run(ref, deeds.stop, BOOM)
    gate.reached()
    assert ref.is_alive()
    assert stage.system.whereis("it") is ref
    with pytest.raises(TimeoutError):
        monitor.wait(0)
    gate.open()
    assert monitor.wait().reason == BOOM
    assert stage.system.whereis("it") is None


def test_what_the_dead_are_sent_is_a_dead_letter(stage: Stage, place: Place) -> None:
    ref = stage.start(place)
    ref.kill()
    with Recorder(stage.system, DeadLetter) as letters:
        ref.tell("later")
        run(ref, deeds.nothing)
        ref.exit(BOOM)
    assert [(letter.path, letter.message, letter.why) for letter in letters.of(DeadLetter)] == [
        (ref.path, "info 'later'", "it ended: killed"),
        (ref.path, f"cast run({named(deeds.nothing)!r})".partition("(")[0], "it ended: killed"),
    ]


def test_what_waited_for_one_that_ends_is_a_dead_letter(stage: Stage, place: Place) -> None:
    ref, gate = stage.start(place), stage.barrier()
    run(ref, deeds.both, (named(deeds.hold), gate.ref), (named(deeds.leave), BOOM))
    gate.reached()
    with Recorder(stage.system, DeadLetter) as letters:
        for number in range(3):
            ref.tell(number)
        assert ends(ref, gate.open) == BOOM
        letters.expect(3)
    assert [letter.message for letter in letters.of(DeadLetter)] == ["info 0", "info 1", "info 2"]
