"""What is told of jobs that fail: once it is written down, and of those alone of whom it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from otpy.events.jobs import JobFailed
from otpy.jobs.redact import redacted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from otpy.jobs.model.claim import Settled
    from otpy.jobs.model.job import Job
    from otpy.jobs.setup import Setup

__all__ = ["Telling", "ended"]


class Telling:
    """For one scheduler: what it has decided waits here until the store has it."""

    def __init__(self, setup: Setup, emit: Callable[[JobFailed], object]) -> None:
        """Nothing was decided."""
        self._setup, self._emit = setup, emit
        self._waiting: dict[tuple[int, int], JobFailed] = {}

    def decided(self, job: Job, settled: Settled, path: str) -> None:
        """So an attempt is to be written down; `path` is where it was, if no agent had it."""
        failed, hook = settled.attempt, self._setup.redact
        if failed is None and settled.state != "dead":
            return
        self._waiting[job.id, job.token] = JobFailed(
            path=job.owner or path,
            job=job.id,
            kind=job.kind,
            queue=job.queue,
            attempt=job.attempt,
            failure="" if failed is None else failed.failure,
            text="" if failed is None else redacted(failed.text, hook),
            state=settled.state,
            reason=redacted(settled.reason, hook),
        )

    def written(self, outcomes: Iterable[tuple[Settled, bool]]) -> None:
        """The store has these, or did not take them: then the job is another's, unless its end was there before it."""
        if not self._waiting:
            return
        for outcome, is_accepted in outcomes:
            event = self._waiting.pop((outcome.id, outcome.token), None)
            if event is None:
                continue
            kind = self._setup.kinds.get(event.kind)
            if is_accepted:
                self._emit(event)
            elif kind is not None and kind.early_ack:
                self._emit(replace(event, state="done", reason="", is_lost=True))


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
    yield JobFailed(
        path=before.owner or path,
        job=after.id,
        kind=after.kind,
        queue=after.queue,
        attempt=after.attempt,
        failure="" if last is None else last.failure,
        text="" if last is None else last.text,
        state=after.state,
        reason=after.reason,
    )
