"""What a drain makes of a scheduler: nothing begins any more, what runs is waited for, and in the end taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.events.jobs import JobsDrained

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otpy.jobs.model.claim import Settled
    from otpy.jobs.model.job import Job
    from otpy.jobs.scheduler.team import Worker
    from otpy.runtime.drain import Drain

__all__ = ["LOOK", "Parting"]

LOOK = 1.0
"""Seconds between two looks how long there is still time: somebody may want the drain to be over earlier."""

SHARE = 0.5
"""Of the time that is left when jobs are told to leave, what they have for it; the rest is for all that follows."""


class Parting:
    """Part of the scheduler, from the moment its program, or the part with it, is told to stop. No clock of its own."""

    def __init__(self, drain: Drain) -> None:
        """Everything that runs is to end."""
        self.drain = drain
        self.is_cut = False
        """Whether the time is over: those who still run were told to leave."""
        self.is_quiet = False
        """Whether nothing comes any more that was claimed before."""
        self._outcomes = {"finished": 0, "released": 0, "checkpointed": 0}
        self._was_told = False

    def count(self, settled: Settled, *, has_checkpoint: bool) -> None:
        """An attempt is over, or a job was given back that was not begun."""
        outcome = "finished" if not settled.is_free else "checkpointed" if has_checkpoint else "released"
        self._outcomes[outcome] += 1

    def show(self, workers: Iterable[Worker[Any]], undead: Iterable[Job]) -> int:
        """Say what is in flight; returns how many that are."""
        jobs = [*(worker.job for worker in workers if worker.job is not None), *undead]
        self.drain.working(len(jobs), [f"job {job.id} of {job.kind}" for job in jobs])
        return len(jobs)

    def told(self, path: str, left: Iterable[Job]) -> JobsDrained | None:
        """What has become of the jobs; once."""
        if self._was_told:
            return None
        self._was_told = True
        return JobsDrained(path=path, **self._outcomes, left=tuple(job.id for job in left))

    def grace(self, deadline: float | None, now: float, most: float) -> float:
        """Seconds that jobs have to leave: at most as many as a cancelled one, and a part of what is left in all."""
        return most if deadline is None else max(0.0, min(most, (deadline - now) * SHARE))
