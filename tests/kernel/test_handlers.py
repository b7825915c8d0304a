"""What handlers decide in every place: continues, timeouts, timers, resources; and what happens to what waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.errors import MailboxFullError, StartError
from otpy.events import DeadLetter
from otpy.testing import Recorder
from support import deeds
from support.stage import BOOM, do, ends, run, seen
from support.steps import named

if TYPE_CHECKING:
    from support.stage import Place, Stage

SHORT = 0.005


# --- decisions


@pytest.mark.otp_case(44, 45)
def test_a_reply_goes_out_before_what_it_continues_with(stage: Stage, place: Place) -> None:
    ref, gate = stage.start(place), stage.barrier()
    assert do(ref, deeds.reply, "value", named(deeds.continue_twice), gate.ref, 1, 2) == "value"
    ref.tell("queued")
    gate.reached()
    gate.open()
    assert seen(ref, 3) == [1, 2, "queued"]


def test_a_cast_may_continue(stage: Stage, place: Place) -> None:
    ref = stage.start(place)
    run(ref, deeds.go_on, named(deeds.remember), "a")
    assert seen(ref, 1) == ["a"]


@pytest.mark.otp_case(64)
def test_a_timeout_comes_once_when_nothing_else_does(stage: Stage, place: Place) -> None:
    notes = stage.notes()
    ref = stage.start(place, log=notes)
    assert do(ref, deeds.reply_idle, "value", SHORT) == "value"
    assert notes.expect(1) == ["timeout"]
    do(ref, deeds.after, 2 * SHORT, "later")
    assert notes.expect(2) == ["timeout", "later"]


@pytest.mark.otp_case(64)
def test_a_message_cancels_the_timeout(stage: Stage, place: Place) -> None:
    notes = stage.notes()
    ref = stage.start(place, log=notes)
    do(ref, deeds.both, (named(deeds.tell_itself), "x"), (named(deeds.reply_idle), "value", 0.03))
    do(ref, deeds.after, 0.04, "later")
    assert notes.expect(2) == ["x", "later"]


@pytest.mark.otp_case(65)
def test_a_timeout_of_nothing_gives_way_to_a_message_that_waits(stage: Stage, place: Place) -> None:
    gate, notes = stage.barrier(), stage.notes()
    ref = stage.start(place, log=notes)
    run(ref, deeds.both, (named(deeds.hold), gate.ref), (named(deeds.idle), 0))
    gate.reached()
    ref.tell("queued")
    gate.open()
    assert notes.expect(1) == ["queued"]
    run(ref, deeds.idle, 0)
    assert notes.expect(2) == ["queued", "timeout"]


# --- time


def test_a_timer_sends_a_message(stage: Stage, place: Place) -> None:
    ref = stage.start(place)
    do(ref, deeds.after, SHORT, "later")
    assert seen(ref, 1) == ["later"]
    assert do(ref, deeds.cancel) is False


def test_a_cancelled_timer_sends_none(stage: Stage, place: Place) -> None:
    ref = stage.start(place)
    assert do(ref, deeds.both, (named(deeds.after), 0.03, "never"), (named(deeds.cancel),)) is True
    do(ref, deeds.after, 0.04, "later")
    assert seen(ref, 1) == ["later"]


def test_an_interval_goes_on_until_it_is_cancelled(stage: Stage, place: Place) -> None:
    ref = stage.start(place)
    do(ref, deeds.every, SHORT, "tick")
    assert seen(ref, 3)[:3] == ["tick"] * 3
    assert do(ref, deeds.cancel) is True
    do(ref, deeds.after, 0.0, "cancelled")  # by the thread of the timers, which may just be in the middle of a tick
    do(ref, deeds.after, 3 * SHORT, "later")
    heard: list[Any] = []
    while "later" not in heard:
        heard = seen(ref, len(heard) + 1)
    assert heard[-2:] == ["cancelled", "later"]


def test_timers_end_with_their_incarnation(stage: Stage, place: Place) -> None:
    notes = stage.notes()
    for end in (otpy.Kill(), BOOM):
        ref = stage.start(place, deeds.every, SHORT, "tick", log=notes)
        notes.expect(1)
        ends(ref, lambda ref=ref, end=end: ref.exit(end))  # type: ignore[misc]
        count = len(notes.so_far())
        late = stage.start(place, deeds.after, 3 * SHORT, "late")
        assert seen(late, 1) == ["late"]
        assert len(notes.so_far()) == count


# --- resources


@pytest.mark.parametrize(
    "end", [(deeds.stop, otpy.Normal()), (deeds.fail, "oops"), (deeds.exit_self, BOOM), (deeds.leave, BOOM)], ids=str
)
def test_what_is_used_is_closed_in_reverse_before_the_end_is_seen(
    stage: Stage, place: Place, end: tuple[Any, ...]
) -> None:
    notes = stage.notes()
    ref = stage.start(place, deeds.use_quietly, "a", "b", log=notes)
    ends(ref, lambda: run(ref, *end))
    assert [entry for entry in notes.so_far() if isinstance(entry, str)] == ["+a", "+b", "-b", "-a"]


def test_what_a_killed_one_used_is_closed_where_its_code_can_go_on(stage: Stage, place: Place) -> None:
    notes = stage.notes()
    ref = stage.start(place, deeds.use_quietly, "a", "b", log=notes)
    assert ends(ref, ref.kill) == otpy.Killed()
    stage.system.wait_idle()
    assert notes.so_far() == ["+a", "+b", *["-b", "-a"] * place.kill_closes]


@pytest.mark.parametrize("outcome", [deeds.ignore, deeds.quit_program], ids=lambda deed: deed.__name__)
def test_what_a_failed_init_used_is_closed(stage: Stage, place: Place, outcome: Any) -> None:
    notes = stage.notes()
    words = ("oops",) * (outcome is deeds.quit_program)
    with pytest.raises(StartError):
        stage.start(place, deeds.both, (named(deeds.use), "a", "b"), (named(outcome), *words), log=notes)
    assert notes.so_far() == ["+a", "+b", "-b", "-a"]


def test_what_is_closed_may_call_others(stage: Stage, one: Place, other: Place) -> None:
    """It is the last thing an actor does."""
    notes, server = stage.notes(), stage.start(other)
    ref = stage.start(one, deeds.use_server, server, log=notes)
    assert ends(ref, lambda: run(ref, deeds.stop, BOOM)) == BOOM
    assert seen(server) == ["returned"]


# --- suspended


def test_a_suspended_actor_keeps_its_messages(stage: Stage, place: Place) -> None:
    ref, path = stage.start(place), ""
    path = ref.path
    stage.system.suspend(path)
    ref.tell("told")
    run(ref, deeds.remember, "cast")
    future = ref.ask("asked", block=False)
    assert stage.system.records(path, within=20.0)[0].status == "suspended"
    stage.system.resume(path)
    assert future.get(timeout=5) == ("asked", "asked")
    assert seen(ref) == ["told", "cast"]


@pytest.mark.parametrize("end", ["kill", "exit", "stop"])
def test_a_suspended_actor_obeys_orders_to_end(stage: Stage, place: Place, end: str) -> None:
    ref = stage.start(place)
    stage.system.suspend(ref.path)
    ref.tell("never")
    reason = ends(ref, {"kill": ref.kill, "stop": ref.stop, "exit": lambda: ref.exit(BOOM)}[end])
    assert reason == {"kill": otpy.Killed(), "stop": otpy.Normal(), "exit": BOOM}[end]


# --- bounded


@pytest.mark.parametrize(("overflow", "kept"), [("drop_new", [0, 1]), ("drop_old", [2, 3])])
def test_a_full_mailbox_drops_as_it_was_told(stage: Stage, place: Place, overflow: str, kept: list[int]) -> None:
    gate, notes = stage.barrier(), stage.notes()
    ref = stage.start(place, log=notes, max_queue=2, overflow=overflow)
    run(ref, deeds.hold, gate.ref)
    gate.reached()
    with Recorder(stage.system, DeadLetter) as letters:
        for number in range(4):
            ref.tell(number)
        gate.open()
        letters.expect(2)
    assert notes.expect(2) == kept
    assert sorted(letter.message for letter in letters.of(DeadLetter)) == [
        f"info {number}" for number in range(4) if number not in kept
    ]


def test_a_full_mailbox_raises_in_the_sender_if_told_so(stage: Stage, one: Place, other: Place) -> None:
    gate, notes, sender = stage.barrier(), stage.notes(), stage.start(one)
    ref = stage.start(other, log=notes, max_queue=1, overflow="raise")
    run(ref, deeds.hold, gate.ref)
    gate.reached()
    ref.tell(0)
    with pytest.raises(MailboxFullError):
        ref.tell(1)
    outcome = do(sender, deeds.attempt, deeds.ask, ref, named(deeds.echo), 1)
    assert outcome[:2] == ("error", "MailboxFullError")
    gate.open()
    assert notes.expect(1) == [0]


# --- circles


def test_a_call_to_oneself_is_refused(stage: Stage, place: Place) -> None:
    ref = stage.start(place)
    outcome = do(ref, deeds.ask_itself)
    assert outcome[:2] == ("error", "DeadlockError")
    assert do(ref, deeds.echo, 1) == 1


def test_a_circle_of_calls_is_refused(stage: Stage, one: Place, other: Place) -> None:
    first, second = stage.start(one), stage.start(other)
    back = (named(deeds.attempt), named(deeds.ask_within), 5.0, first, named(deeds.echo), 1)
    outcome = do(first, deeds.ask, second, *back)
    assert outcome[:2] == ("error", "DeadlockError")
    assert do(first, deeds.ask, second, named(deeds.echo), 1) == 1
