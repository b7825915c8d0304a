"""What goes wrong with a job is told as an event, and in the log when nobody will try again."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from otpy import jobs
from otpy.events import JobFailed
from otpy.testing import Recorder

from .agents.works import AT_ONCE

if TYPE_CHECKING:
    from pathlib import Path

    import otpy


def failing(how: str) -> object:
    match how:
        case "raises":
            raise ValueError("no good: s3cret")
        case "crashes":
            raise SystemExit(3)
        case "gives up":
            return jobs.Dead("nobody wants s3cret")
        case "stale":
            return object()
    return how


KIND: Any = jobs.job(name="shop.fail", retry=AT_ONCE)(failing)


@pytest.fixture
def told(timed: otpy.System, tmp_path: Path, quiet: None) -> Any:
    """Does a job to its end; what was told of it."""

    def redact(text: str) -> str:
        return text.replace("s3cret", "***")

    timed.start(jobs.engine(tmp_path / "jobs.db", [KIND], redact=redact))

    def run(how: str) -> list[JobFailed]:
        with Recorder(timed, JobFailed) as recorder:
            jobs.of(timed).enqueue(KIND.new(how))
            timed.wait_idle()
            timed.clock.advance(5.0)  # type: ignore[attr-defined]  # a virtual one
            return recorder.of(JobFailed)

    return run


def test_each_failed_attempt_is_told_and_the_last_one_is_a_warning(told: Any) -> None:
    events = told("raises")
    *early, last = events
    assert early
    assert [event.attempt for event in events] == list(range(1, len(events) + 1))
    assert {event.level for event in early} == {logging.INFO}
    assert {event.state for event in early} <= {"ready", "scheduled"}
    assert (last.level, last.state, last.reason, last.failure) == (logging.WARNING, "dead", "errors", "error")
    assert str(last) == (
        f"{last.path}: job 1, shop.fail, is dead after attempt {last.attempt} (errors): ValueError: no good: ***"
    )
    assert f"is {early[0].state} after attempt 1 failed: ValueError: no good: ***" in str(early[0])


@pytest.mark.parametrize(
    ("how", "failure", "text"),
    [
        ("crashes", "crash", "is dead after attempt "),
        ("gives up", "", ", shop.fail, is dead after attempt 1: nobody wants ***"),
        ("stale", "stale", "is dead after attempt 1"),
    ],
)
def test_whatever_kills_a_job_is_told(told: Any, how: str, failure: str, text: str) -> None:
    last = told(how)[-1]
    assert (last.state, last.failure, last.level) == ("dead", failure, logging.WARNING)
    assert text in str(last)
    assert "/jobs/duties/" in last.path


def test_nothing_is_told_of_a_job_that_is_done(told: Any) -> None:
    assert told("well") == []
