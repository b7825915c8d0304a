"""How attempts are written down: what an agent reports, and what is said of one that reports nothing any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from otpy.core.text import shorten
from otpy.jobs.decisions import MOST_SECONDS
from otpy.jobs.model.claim import Settled
from otpy.jobs.retry import Retry
from otpy.jobs.scheduler.budgets import Budgets
from otpy.jobs.verdict import Failed, after_failure, given_back, snoozed

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.core.reason import Reason
    from otpy.jobs.agents.attempt import Report
    from otpy.jobs.model.job import Job
    from otpy.jobs.scheduler.watch import Overdue
    from otpy.jobs.setup import Setup

__all__ = ["End", "Judge", "crashed", "late"]

End: TypeAlias = Failed | Literal["cancelled", "given back"]
"""How an attempt ended that its agent says nothing of."""

USUAL = Retry().backoff
"""The pauses of a kind that is not known here: another program has enqueued it."""

TEXT = 2_000
"""Characters that are kept of how an agent ended."""


class Judge:
    """Goes by the rules of each kind, and by the retry budget of each queue. Reads the clocks, and writes nothing."""

    def __init__(self, setup: Setup, clock: Callable[[], float], draw: Callable[[], float]) -> None:
        """No retry was spent.

        Args:
            setup: knows the kinds and the queues, and the store's time.
            clock: the seconds that budgets go by.
            draw: gives a number from [0, 1): how long a retry waits is drawn by chance.
        """
        self._setup, self._clock, self._draw = setup, clock, draw
        self._budgets = Budgets(setup.queues)

    def begun(self, job: Job) -> None:
        """An attempt begins."""
        self._budgets.begun(job, self._clock())

    def reported(self, job: Job, report: Report) -> Settled:
        """An agent says how it went; that is plain data, and may come out of a process with another otpy in it."""
        match report:
            case ("released", _):
                return self.ended(job, "given back")
            case ("done", bytes() as result):
                return Settled(id=job.id, token=job.token, state="done", result=result)
            case ("snoozed", float() as seconds) if 0 <= seconds < MOST_SECONDS:
                return self.put_off(job, seconds)
            case ("cancelled" | "dead" as state, str() as why):
                return Settled(id=job.id, token=job.token, state=state, reason=why)
            case ("failed", dict() as facts):
                return self._failed(job, Failed(**facts))
        return self._failed(job, Failed(failure="error", text="its agent's report has no meaning"))

    def ended(self, job: Job, end: End) -> Settled:
        """An attempt was ended, or its agent was."""
        match end:
            case "cancelled":  # the store knows why
                return Settled(id=job.id, token=job.token, state="cancelled", reason="cancelled")
            case "given back":
                return given_back(job, self._setup.now())
            case Failed():
                return self._failed(job, end)

    def put_off(self, job: Job, seconds: float) -> Settled:
        """It is to go on later."""
        return snoozed(job, seconds, self._setup.now())

    def _failed(self, job: Job, failed: Failed) -> Settled:
        backoff, now = self._setup.backoff_of(job.kind) or USUAL, self._setup.now()
        settled = after_failure(job, failed, backoff, chance=self._draw(), now=now)
        return self._budgets.spent(job, settled, self._clock(), now)


def late(job: Job, overdue: Overdue, stall: float, now: int) -> End:
    """How an attempt ends that has overstepped its time.

    Args:
        job: what it did.
        overdue: which time.
        stall: seconds that it might be silent.
        now: the store's time.
    """
    match overdue:
        case "cancelled":
            return "cancelled"
        case "parted":
            return "given back"
        case "stalled":
            return Failed(failure="stalled", text=f"no progress for {stall:g} s")
    if job.timeout_ms is None or (job.deadline_at is not None and now >= job.deadline_at):
        return Failed(failure="timeout", text="not done before its deadline")
    return Failed(failure="timeout", text=f"not done within {job.timeout_ms / 1_000:g} s")


def crashed(reason: Reason) -> Failed:
    """An agent died of its job."""
    return Failed(failure="crash", text=shorten(str(reason), TEXT))
