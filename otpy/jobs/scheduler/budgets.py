"""Retry budgets: when much fails at once, retries above a part of the first attempts wait longer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.resilience.budget import RetryBudget

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otpy.jobs.model.claim import Settled
    from otpy.jobs.model.job import Job
    from otpy.jobs.setup import Queue

__all__ = ["LATER", "Budgets"]

LATER = 10_000
"""Milliseconds that a retry above the budget waits at least: it asks again then, and its attempts are not fewer."""

USUAL = 0.2


class Budgets:
    """One for each queue."""

    def __init__(self, queues: Mapping[str, Queue]) -> None:
        """Nothing is spent."""
        self._queues = queues
        self._budgets: dict[str, RetryBudget | None] = {}
        self.pushed = 0
        """Retries that had to wait longer."""

    def begun(self, job: Job, now: float) -> None:
        """An attempt begins, at this time (seconds)."""
        budget = self._of(job.queue)
        if budget is not None and not job.errors and not job.crashes:
            budget.first(now)

    def spent(self, job: Job, settled: Settled, now: float, now_ms: int) -> Settled:
        """A failure leads to this; a retry for which there is no budget is put off."""
        budget = self._of(job.queue)
        if not settled.goes_on or budget is None or budget.take(now):
            return settled
        self.pushed += 1
        return settled._replace(state="scheduled", run_at=max(settled.run_at or 0, now_ms + LATER))

    def _of(self, queue: str) -> RetryBudget | None:
        if queue not in self._budgets:
            declared = self._queues.get(queue)
            ratio = USUAL if declared is None else declared.retry_budget
            self._budgets[queue] = None if ratio is None else RetryBudget(ratio=ratio)
        return self._budgets[queue]
