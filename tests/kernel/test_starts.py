"""The start handshake in every place, from outside and from actors of every place."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.core.reason import BadReturn
from otpy.errors import IgnoredError, NameTakenError, StartError, StartTimeoutError
from otpy.events import ActorCrashed
from support import deeds
from support.stage import BOOM, do, one_of, run, seen
from support.steps import named

if TYPE_CHECKING:
    from otpy.testing import Recorder
    from support.stage import Place, Stage


def fails(stage: Stage, place: Place, *args: object, **options: object) -> StartError:
    """Start an actor that does not start; nothing of it may be left."""
    with pytest.raises(StartError) as caught:
        stage.start(place, *args, id="failing", name="it", **options)
    assert stage.system.whereis("it") is None
    assert stage.system.find("t/failing") is None
    return caught.value


@pytest.mark.otp_case(32)
def test_a_start_returns_after_init(stage: Stage, place: Place) -> None:
    notes = stage.notes()
    stage.start(place, deeds.remember, "init", log=notes)
    assert notes.so_far() == ["init"]


def test_messages_sent_during_init_wait_for_its_end(stage: Stage, place: Place) -> None:
    gate, started = stage.barrier(), []
    spec = stage.spec(place, deeds.both, (named(deeds.hold), gate.ref), (named(deeds.remember), "init"), name="it")
    thread = threading.Thread(target=lambda: started.append(stage.system.start(spec)))
    thread.start()
    gate.reached()
    stage.system.ref("it").tell("early")
    future = stage.system.ref("it").ask("earlier", block=False)
    gate.open()
    thread.join(30)
    assert future.get(timeout=5) == ("asked", "earlier")
    assert seen(started[0]) == ["init", "early"]


@pytest.mark.otp_case(34)
def test_an_ignored_start_is_no_crash(stage: Stage, place: Place, events: Recorder) -> None:
    error = fails(stage, place, deeds.ignore)
    assert isinstance(error, IgnoredError)
    assert error.reason == otpy.Normal()
    assert events.of(ActorCrashed) == []


@pytest.mark.otp_case(36)
def test_a_stop_from_init_is_the_starts_failure(stage: Stage, place: Place, events: Recorder) -> None:
    assert fails(stage, place, deeds.stop, BOOM).reason == BOOM
    assert [event.reason for event in events.of(ActorCrashed)] == [BOOM]


def test_an_exit_from_init_is_the_starts_failure(stage: Stage, place: Place) -> None:
    assert fails(stage, place, deeds.leave, BOOM).reason == BOOM


@pytest.mark.otp_case(37)
def test_a_fail_from_init_is_the_starts_failure_and_no_crash(stage: Stage, place: Place, events: Recorder) -> None:
    assert fails(stage, place, deeds.refuse, BOOM).reason == BOOM
    assert events.of(ActorCrashed) == []


@pytest.mark.otp_case(38)
@pytest.mark.parametrize("value", ["foo", 0], ids=repr)
def test_another_return_of_init_is_refused(stage: Stage, place: Place, value: object) -> None:
    assert fails(stage, place, deeds.echo, value).reason == BadReturn(repr(value))


@pytest.mark.otp_case(37)
@pytest.mark.parametrize("deed", [deeds.fail, deeds.quit_program])
def test_an_error_in_init_is_the_starts_failure(stage: Stage, place: Place, deed: object) -> None:
    reason = fails(stage, place, deed, "oops").reason
    assert isinstance(reason, otpy.Crashed)
    assert (reason.type, reason.text) in [("ValueError", "oops"), ("SystemExit", "oops")]


@pytest.mark.otp_case(40)
def test_an_init_beyond_its_time_is_killed(stage: Stage, place: Place) -> None:
    gate = stage.barrier()
    error = fails(stage, place, deeds.hold, gate.ref, start_timeout=0.3)
    assert isinstance(error, StartTimeoutError)
    assert "took longer than 0.3 s" in str(error)


@pytest.mark.otp_case(41)
@pytest.mark.parametrize("reason", [otpy.Kill(), BOOM], ids=str)
def test_an_init_that_is_told_to_die_fails_its_start(stage: Stage, place: Place, reason: otpy.Reason) -> None:
    gate, errors = stage.barrier(), []

    def start() -> None:
        with pytest.raises(StartError) as caught:
            stage.start(place, deeds.hold, gate.ref, name="it")
        errors.append(caught.value.reason)

    thread = threading.Thread(target=start)
    thread.start()
    gate.reached()
    stage.system.ref("it").exit(reason)
    thread.join(30)
    assert errors == [otpy.Killed() if isinstance(reason, otpy.Kill) else reason]


@pytest.mark.otp_case(42)
def test_a_taken_name_fails_the_start_and_leaves_its_holder(stage: Stage, one: Place, other: Place) -> None:
    holder = stage.start(one, name="it")
    with pytest.raises(NameTakenError) as caught:
        stage.start(other, name="it")
    assert caught.value.holder is holder
    assert stage.system.whereis("it") is holder
    assert do(holder, deeds.echo, 1) == 1


def test_continue_from_init_goes_before_any_message(stage: Stage, place: Place) -> None:
    gate = stage.barrier()
    ref = stage.start(place, deeds.go_on, named(deeds.continue_twice), gate.ref, "first", "second")
    ref.tell("queued")
    gate.reached()
    gate.open()
    assert seen(ref) == ["first", "second", "queued"]


# --- from within an actor


@pytest.mark.otp_case(32, 33)
def test_a_starter_goes_on_when_init_is_done(stage: Stage, parent: Place, child: Place) -> None:
    """And hears nothing else of it."""
    notes = stage.notes()
    starter = stage.start(parent, log=notes, traps=True)
    do(starter, deeds.spawn_and_note, "child", child.name, named(deeds.remember), "init")
    assert notes.so_far() == ["init", "started"]
    assert do(starter, deeds.to_kept, "child", deeds.ask, named(deeds.echo), 1) == 1


@pytest.mark.otp_case(33, 34, 37)
def test_a_start_that_fails_within_an_actor_leaves_nothing_but_the_error(
    stage: Stage, parent: Place, child: Place
) -> None:
    deed = one_of([deeds.ignore, deeds.stop, deeds.refuse, deeds.fail, deeds.echo], parent, child)
    starter = stage.start(parent, traps=True)
    arguments = (BOOM,) if deed in (deeds.stop, deeds.refuse) else ("oops",) * (deed is not deeds.ignore)
    outcome = do(starter, deeds.attempt, deeds.spawn, "child", child.name, named(deed), *arguments)
    assert outcome[0] == "error"
    assert outcome[1] == ("IgnoredError" if deed is deeds.ignore else "StartError")
    assert seen(starter) == []


def test_a_started_one_is_linked_before_it_runs(stage: Stage, parent: Place, child: Place) -> None:
    """It dies in its first message, and who started it hears of it."""
    notes = stage.notes()
    starter = stage.start(parent, log=notes, traps=True)
    run(starter, deeds.spawn, "child", child.name, named(deeds.go_on), named(deeds.leave), BOOM)
    assert notes.expect(2) == [("terminate", BOOM), ("exit", f"{starter.path}/child", BOOM)]


def test_what_an_actor_started_ends_with_it(stage: Stage, parent: Place, child: Place) -> None:
    notes = stage.notes()
    starter = stage.start(parent, log=notes)
    do(starter, deeds.spawn_trapping, "child", child.name)
    starter.exit(BOOM)
    assert notes.expect(1) == [("terminate", BOOM)]


@pytest.mark.otp_case(46)
def test_who_starts_and_watches_sees_the_end(stage: Stage, parent: Place, child: Place) -> None:
    notes = stage.notes()
    starter = stage.start(parent, log=notes, traps=True)
    do(starter, deeds.spawn, "child", child.name)
    do(starter, deeds.to_kept, "child", deeds.watch)
    do(starter, deeds.to_kept, "child", deeds.end, BOOM)
    path = f"{starter.path}/child"
    assert sorted(notes.expect(2)) == [("down", path, BOOM), ("exit", path, BOOM)]
