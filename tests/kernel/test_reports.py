"""What is reported of a crash in every place: the same event, with the last message and the state, without secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.events import ActorCrashed, UnknownMessage
from support import deeds
from support.stage import BOOM, do, ends, run

if TYPE_CHECKING:
    from otpy.testing import Recorder
    from support.stage import Place, Stage


@pytest.mark.otp_case(181)
def test_a_crash_report_says_who_where_and_why(stage: Stage, place: Place, events: Recorder) -> None:
    ref = stage.start(place, name="it")
    do(ref, deeds.keep_secrets, "visible", "s3cret")
    reason = ends(ref, lambda: run(ref, deeds.fail, "oops"))
    [event] = events.of(ActorCrashed)
    assert (event.path, event.kind, event.name, event.reason) == (ref.path, place.cls.__name__, "it", reason)
    assert event.message is not None
    assert event.message.startswith("cast run('support.deeds:fail', 'oops')")
    state = dict(event.state)
    assert state["shown"] == "'visible'"
    assert "s3cret" not in state["password"]
    assert "s3cret" not in str(event)


@pytest.mark.otp_case(181)
@pytest.mark.parametrize("reason", [otpy.Normal(), otpy.Shutdown(), otpy.Shutdown("x")], ids=str)
def test_a_clean_end_is_no_crash(stage: Stage, place: Place, events: Recorder, reason: otpy.Reason) -> None:
    ref = stage.start(place)
    assert ends(ref, lambda: run(ref, deeds.stop, reason)) == reason
    assert events.of(ActorCrashed) == []


def test_a_message_that_nobody_handles_is_reported_and_harms_nobody(
    stage: Stage, place: Place, events: Recorder
) -> None:
    ref = stage.system.start(otpy.child(otpy.GenServer).opts(place=place.where or place.name))
    ref.tell("hello")
    ref.stop()
    assert [(event.path, event.message) for event in events.of(UnknownMessage)] == [(ref.path, "'hello'")]


def test_a_crash_is_remembered_with_its_cause(stage: Stage, place: Place) -> None:
    ref = stage.start(place, id=f"remembered-{place}")
    assert ends(ref, lambda: run(ref, deeds.leave, BOOM)) == BOOM
    assert [record.reason for record in stage.system.exits(ref.path)] == [str(BOOM)]
