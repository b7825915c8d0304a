"""What is told of jobs that fail: once it is written down, and of those alone of whom it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from otpy.events.jobs import JobFailed
from otpy.jobs.program import unsigned
from otpy.jobs.redact import redacted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from otpy.jobs.model.claim import Settled
    from otpy.jobs.model.job import Attempt, Job, State
    from otpy.jobs.setup import Setup

__all__ = ["Telling", "ended"]


class Telling:
    """For one scheduler: what it has decided waits here until the store has it."""

    def __init__(self, setup: Setup, emit: Callable[[JobFailed], object]) -> None:
        """Nothing was decided."""
        self._setup, self._emit, self._figures = setup, emit, setup.figures
        self._waiting: dict[tuple[int, int], JobFailed] = {}

    def decided(self, job: Job, settled: Settled, path: str) -> None:
        """So an attempt is to be written down; `path` is where it was, if no agent had it."""
        if self._figures.is_on:
            kind = self._setup.kinds.get(job.kind)
            self._figures.decided(job, settled, is_early=kind is not None and kind.early_ack)
        if settled.attempt is not None or settled.state == "dead":
            event = _failed(
                job, unsigned(job.owner) or path, settled.attempt, settled.state, settled.reason, self._setup.redact
            )
            self._waiting[job.id, job.token] = event

    def written(self, outcomes: Iterable[tuple[Settled, bool]]) -> None:
        """The store has these, or did not take them: then the job is another's, unless its end was there before it."""
        if not self._waiting and not self._figures.awaits:
            return
        for outcome, is_accepted in outcomes:
            self._figures.written(outcome.id, outcome.token, is_accepted=is_accepted)
            event = self._waiting.pop((outcome.id, outcome.token), None)
            if event is None:
                continue
            kind = self._setup.kinds.get(event.kind)
            if is_accepted:
                self._tell(event)
            elif kind is not None and kind.early_ack:
                self._tell(replace(event, state="done", reason="", is_lost=True))

    def _tell(self, event: JobFailed) -> None:
        self._figures.failed(event)
        self._emit(event)


def ended(before: Job, after: Job | None, path: str) -> Iterable[JobFailed]:
    """What the store itself has made of a job, that nobody has begun in time or whose program is gone.

    Args:
        before: as it was.
        after: as it is, with its attempts.
        path: of who tells it, if no agent had it.
    """
    if after is None or after.releases > before.releases:  # given back, and has not failed
        return
    last = after.attempts[-1] if after.attempts and before.state == "running" else None
    yield _failed(after, before.owner or path, last, after.state, after.reason)


def _failed(
    job: Job, path: str, last: Attempt | None, state: State, reason: str, redact: Callable[[str], str] | None = None
) -> JobFailed:
    """What the store has is redacted already."""
    return JobFailed(
        path=path,
        job=job.id,
        kind=job.kind,
        queue=job.queue,
        attempt=job.attempt,
        failure="" if last is None else last.failure,
        text="" if last is None else redacted(last.text, redact),
        state=state,
        reason=redacted(reason, redact),
    )
