"""What goes wrong with a job is told as an event, and in the log when nobody will try again."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from otpy import jobs
from otpy.core.spec import Name
from otpy.events import JobFailed
from otpy.jobs.model.claim import Settled
from otpy.jobs.writer import Writer
from otpy.testing import Gate, Recorder

from .agents.works import AT_ONCE
from .pair import LEASE, WHERE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import otpy

    from .pair import Pair


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


def test_it_is_told_when_the_store_has_it(timed: otpy.System, tmp_path: Path, quiet: None) -> None:
    """Before, it was told as it was decided, and who looked then saw a job that was running."""
    timed.start(jobs.engine(tmp_path / "jobs.db", [KIND]))
    client, found = jobs.of(timed), list[tuple[str, str]]()

    def look(event: JobFailed) -> None:
        job = client.get(event.job)
        assert job is not None
        found.append((event.state, job.state))

    timed.events.attach(look, JobFailed)
    client.enqueue(KIND.new("gives up"))
    timed.wait_idle()
    assert found == [("dead", "dead")]


def test_what_the_store_refuses_is_not_told(timed: otpy.System, tmp_path: Path, quiet: None) -> None:
    gate = Gate()

    def fail() -> None:
        gate.wait()
        raise ValueError

    kind = jobs.job(fail)
    timed.start(jobs.engine(tmp_path / "jobs.db", [kind]))
    with Recorder(timed, JobFailed) as recorder:
        made = jobs.of(timed).enqueue(kind.new())
        gate.reached(1)
        other = Settled(id=made.id, token=1, state="cancelled", reason="by somebody else")
        timed.ref(Name("jobs/writer", Writer)).call(Writer.run, lambda tx: tx.settle([other]))
        gate.open()
        timed.wait_idle()
        assert recorder.of(JobFailed) == []


def test_a_job_whose_program_has_died_is_told_by_who_takes_it_back(make: Callable[..., Pair]) -> None:
    gate = Gate()

    def hang() -> None:
        gate.wait()

    kind = jobs.job(name="hang", retry=jobs.Retry(crashes=1))(hang)
    pair = make(kinds=[WHERE, kind])
    made = pair.client(0).enqueue(kind.new())
    gate.reached(1)
    pair.kill(0)
    pair.clock.advance(4 * LEASE)
    pair.settle()
    gate.open()
    assert pair.told(0, JobFailed) == []
    (event,) = pair.told(1, JobFailed)
    assert (event.job, event.failure, event.state, event.reason) == (made.id, "lost", "dead", "crashes")
    assert "was not heard of within its lease" in str(event)


def test_what_nobody_has_begun_in_time_is_told(timed: otpy.System, tmp_path: Path, quiet: None) -> None:
    timed.start(jobs.engine(tmp_path / "jobs.db", [KIND]))
    client = jobs.of(timed)
    client.pause("default")
    with Recorder(timed, JobFailed) as recorder:
        client.enqueue_all([KIND.new("well").opts(start_within=5.0), KIND.new("well").opts(deadline=5.0)])
        timed.clock.advance(6.0)  # type: ignore[attr-defined]  # a virtual one
        told = [str(event).partition(": ")[2] for event in recorder.of(JobFailed)]
    assert told == [
        "job 2, shop.fail, is dead, and was not begun: deadline",
        "job 1, shop.fail, is dead, and was not begun: schedule_to_start",
    ]


def test_a_failed_attempt_keeps_what_a_person_needs_at_night(timed: otpy.System, tmp_path: Path, quiet: None) -> None:
    """It was 200 characters, and not where they came from."""

    def deep(number: int) -> None:
        if number:
            deep(number - 1)
        raise OSError("s3cret " + "x" * 600)

    def fail() -> None:
        try:
            deep(100)
        except OSError as error:
            raise ValueError("could not") from error

    kind = jobs.job(name="night", retry=jobs.Retry(errors=1))(fail)
    plain = jobs.job(name="plain", retry=jobs.Retry(errors=1))(deep)
    timed.start(jobs.engine(tmp_path / "jobs.db", [kind, plain], redact=lambda text: text.replace("s3cret", "***")))
    client = jobs.of(timed)
    first, second = client.enqueue_all([kind.new(), plain.new(0)])
    timed.wait_idle()
    job, other = client.get(first.id), client.get(second.id)
    assert job is not None
    assert other is not None
    (attempt,), (long,) = job.attempts, other.attempts
    assert attempt.text == "ValueError: could not"
    assert attempt.trace.endswith("ValueError: could not")
    assert "which led to:" in attempt.trace
    assert "in deep" in attempt.trace
    assert "raise ValueError(" in attempt.trace
    assert len(attempt.trace) <= 4_100
    assert "s3cret" not in attempt.trace + long.text + long.trace
    assert len(long.text) > 600
