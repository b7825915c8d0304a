"""Calls, casts and messages from every place to every place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.errors import CallExitError, CallTimeoutError, NoProcError, UnknownRequestError
from support import deeds
from support.players import Log, Player
from support.stage import BOOM, do, ends, one_of, run, seen, tell_to
from support.steps import named

if TYPE_CHECKING:
    from support.stage import Place, Stage


def test_a_call_returns_what_the_method_returns(stage: Stage, one: Place, other: Place) -> None:
    caller, server = stage.start(one), stage.start(other)
    for value in (42, None, "text", (1, [2.5, {"a": b"b"}])):
        assert do(caller, deeds.ask, server, deeds.echo, value) == value


def test_a_call_goes_through_others_and_back(stage: Stage, one: Place, other: Place) -> None:
    """There and back again to a third, of the caller's place."""
    first, second, third = stage.start(one), stage.start(other), stage.start(one)
    assert do(first, deeds.ask, second, deeds.ask, third, deeds.path) == third.path


def test_messages_of_one_sender_keep_their_order(stage: Stage, one: Place, other: Place) -> None:
    sender, hearer = stage.start(one), stage.start(other)
    do(sender, deeds.mix, hearer, 60)
    assert seen(hearer) == list(range(60))


def test_a_raw_request_reaches_handle_call(stage: Stage, one: Place, other: Place) -> None:
    caller, server = stage.start(one), stage.start(other)
    assert do(caller, deeds.ask_raw, server, "x") == ("asked", "x")
    assert server.ask("y", block=False).get(timeout=5) == ("asked", "y")


@pytest.mark.otp_case(72)
def test_a_request_that_the_class_does_not_have_is_refused_in_the_sender(stage: Stage, place: Place) -> None:
    ref = stage.start(place)
    with pytest.raises(UnknownRequestError, match=r"Player\.run: not a @call of this actor; it has .*Player\.do"):
        ref.call(Player.run)
    with pytest.raises(UnknownRequestError, match="not a @cast"):
        ref.cast(Log.note)
    assert seen(ref) == []


@pytest.mark.otp_case(48)
def test_a_call_to_a_dead_actor_fails_at_once(stage: Stage, one: Place, other: Place) -> None:
    """Whether the caller was handed it before its end or after."""
    caller, server, early = stage.start(one), stage.start(other), stage.start(one)
    assert do(early, deeds.ask, server, deeds.echo, 1) == 1
    server.kill()
    for asker in (caller, early):
        outcome = do(asker, deeds.attempt, deeds.ask_within, None, server, deeds.echo, 1)
        assert outcome[:2] == ("error", "NoProcError")


@pytest.mark.otp_case(48)
def test_a_call_to_a_name_that_nobody_holds_is_noproc(stage: Stage, place: Place) -> None:
    caller = stage.start(place)
    outcome = do(caller, deeds.attempt, deeds.ask_name, "nobody", deeds.echo, 1)
    assert outcome == ("error", "NoProcError", otpy.NoProc())


@pytest.mark.otp_case(49)
def test_a_call_that_takes_too_long_fails_and_its_late_reply_is_dropped(stage: Stage, one: Place, other: Place) -> None:
    caller, server, gate = stage.start(one), stage.start(other), stage.barrier()
    outcome = do(caller, deeds.attempt, deeds.ask_within, 0.02, server, deeds.hold, gate.ref)
    assert outcome[:2] == ("error", "CallTimeoutError")
    gate.open()
    assert do(caller, deeds.ask, server, deeds.echo, "next") == "next"
    assert seen(caller) == []


@pytest.mark.otp_case(50)
def test_a_call_without_time_fails_unless_the_reply_is_there(stage: Stage, one: Place, other: Place) -> None:
    caller, server, gate = stage.start(one), stage.start(other), stage.barrier()
    run(server, deeds.hold, gate.ref)
    gate.reached()
    assert do(caller, deeds.attempt, deeds.ask_within, 0.0, server, deeds.echo, 1)[:2] == ("error", "CallTimeoutError")


@pytest.mark.otp_case(229)
@pytest.mark.report("A47", "fizzAI/fauxtp")
def test_an_error_in_a_call_ends_the_server_and_reaches_the_caller(stage: Stage, one: Place, other: Place) -> None:
    how = one_of([deeds.ask, deeds.ask_raw, deeds.ask], one, other)
    caller, server = stage.start(one), stage.start(other)
    request = (deeds.fail, "oops") if how is deeds.ask else (("do", named(deeds.fail), "oops"),)
    kind, name, reason = do(caller, deeds.attempt, how, server, *request)
    assert (kind, name, type(reason)) == ("error", "CallExitError", otpy.Crashed)
    assert (reason.type, reason.text) == ("ValueError", "oops")
    assert server.monitor().wait().reason == otpy.NoProc()
    assert not server.is_alive()
    assert server.reason == reason
    assert do(caller, deeds.echo, 1) == 1


@pytest.mark.otp_case(53)
def test_a_stop_without_reply_fails_the_call_with_its_reason(stage: Stage, one: Place, other: Place) -> None:
    reason = one_of([BOOM, otpy.Normal(), otpy.Shutdown("x")], one, other)
    caller, server = stage.start(one), stage.start(other)
    assert do(caller, deeds.attempt, deeds.ask, server, deeds.stop, reason) == ("error", "CallExitError", reason)


@pytest.mark.otp_case(54)
def test_a_stop_with_reply_runs_terminate_then_replies(stage: Stage, one: Place, other: Place) -> None:
    notes = stage.notes()
    caller, server = stage.start(one), stage.start(other, log=notes)
    do(caller, deeds.ask_and_note, notes.ref, server, deeds.stop, BOOM, "bye")
    assert notes.so_far() == [("terminate", BOOM), ("answer", "bye")]


@pytest.mark.otp_case(52)
def test_calls_that_wait_behind_a_crash_fail_with_its_reason(stage: Stage, place: Place) -> None:
    server, gate = stage.start(place), stage.barrier()
    run(server, deeds.both, [named(deeds.hold), gate.ref], [named(deeds.leave), BOOM])
    gate.reached()
    futures = [server.ask("x", block=False) for _ in range(3)]
    gate.open()
    for future in futures:
        with pytest.raises(CallExitError, match="boom") as caught:
            future.get(timeout=5)
        assert caught.value.reason == BOOM


def test_a_call_that_is_being_handled_fails_when_the_server_is_told_to_die(
    stage: Stage, one: Place, other: Place
) -> None:
    end = one_of(["kill", "exit", "exit"], one, other)
    caller, server, gate, notes = stage.start(one), stage.start(other), stage.barrier(), stage.notes()
    run(caller, deeds.attempt_and_note, notes.ref, deeds.ask_within, None, server, deeds.hold, gate.ref)
    gate.reached()
    server.exit(otpy.Kill() if end == "kill" else BOOM)
    assert notes.expect(1) == [("error", "CallExitError", otpy.Killed() if end == "kill" else BOOM)]


def test_a_caller_that_is_told_to_die_waits_no_longer(stage: Stage, one: Place, other: Place) -> None:
    """And the server, which lives on, answers nobody."""
    end = one_of(["exit", "kill", "exit"], one, other)
    caller, server, gate = stage.start(one), stage.start(other), stage.barrier()
    run(caller, deeds.ask_within, None, server, deeds.hold, gate.ref)
    gate.reached()
    reason = ends(caller, lambda: caller.exit(otpy.Kill() if end == "kill" else BOOM))
    assert reason == (otpy.Killed() if end == "kill" else BOOM)
    gate.open()
    assert do(server, deeds.echo, 1) == 1


@pytest.mark.otp_case(56)
def test_replies_may_be_put_off_and_the_first_one_counts(stage: Stage, one: Place, other: Place) -> None:
    caller, server, notes = stage.start(one), stage.start(other), stage.notes()
    run(caller, deeds.ask_and_note, notes.ref, server, deeds.put_off_and_note, notes.ref)
    assert notes.expect(1) == ["put off"]
    assert do(server, deeds.answer, "later") == [True, False]
    assert notes.expect(2)[1:] == [("answer", "later")]
    assert do(caller, deeds.ask, server, deeds.answer_itself, "first", "second") == "first"
    assert seen(caller) == []


def test_a_caller_who_was_put_off_hears_of_the_servers_end(stage: Stage, one: Place, other: Place) -> None:
    caller, server, notes = stage.start(one), stage.start(other), stage.notes()
    run(caller, deeds.attempt_and_note, notes.ref, deeds.ask, server, deeds.put_off_and_note, notes.ref)
    assert notes.expect(1) == ["put off"]
    server.exit(BOOM)
    assert notes.expect(2)[1:] == [("error", "CallExitError", BOOM)]


def test_a_late_answer_reaches_nobody(stage: Stage, one: Place, other: Place) -> None:
    caller, server, notes = stage.start(one), stage.start(other), stage.notes()
    outcome = do(caller, deeds.attempt, deeds.ask_within, 0.02, server, deeds.put_off_and_note, notes.ref)
    assert outcome[:2] == ("error", "CallTimeoutError")
    assert do(caller, deeds.ask, server, deeds.answer, "late") == [not (one.knows_late and other.knows_late), False]
    assert do(caller, deeds.ask, server, deeds.echo, "next") == "next"


def test_sends_to_the_dead_never_fail(stage: Stage, one: Place, other: Place) -> None:
    sender, dead = stage.start(one), stage.start(other)
    dead.kill()
    do(sender, deeds.cast, dead, deeds.echo, 1)
    do(sender, deeds.tell, dead, "x")
    do(sender, deeds.end, dead, BOOM)
    assert do(sender, deeds.kill, dead) is False
    assert do(sender, deeds.stop_other, dead) is False
    assert do(sender, deeds.is_alive, dead) is False
    assert seen(sender) == []


def test_many_callers_of_a_dying_actor_all_return(stage: Stage, place: Place) -> None:
    server, gate = stage.start(place), stage.barrier()
    run(server, deeds.hold, gate.ref)
    gate.reached()
    futures = [server.ask("x", block=False) for _ in range(200)]
    server.exit(BOOM)
    errors = []
    for future in futures:
        with pytest.raises(CallExitError) as caught:
            future.get(timeout=5)
        errors.append(caught.value)
    assert {error.reason for error in errors} == {BOOM}
    assert len({id(error) for error in errors}) == 200


def test_an_outsider_calls_as_an_actor_does(stage: Stage, place: Place) -> None:
    server, gate = stage.start(place), stage.barrier()
    with pytest.raises(CallTimeoutError, match=r"within 0\.02 s"):
        do(server, deeds.hold, gate.ref, seconds=0.02)
    gate.open()
    assert do(server, deeds.echo, 1) == 1
    server.kill()
    with pytest.raises(NoProcError, match="it had ended before the call"):
        do(server, deeds.echo, 1)


def test_a_message_may_do_what_a_cast_may(stage: Stage, place: Place) -> None:
    server = stage.start(place)
    tell_to(server, deeds.remember, "told")
    run(server, deeds.remember, "cast")
    assert seen(server) == ["told", "cast"]
    assert ends(server, lambda: tell_to(server, deeds.stop, BOOM)) == BOOM
