"""Figures: what an engine counts of its jobs once somebody measures; each is changed in one thread, read in any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from otpy.core.histogram import Histogram

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otpy.events.jobs import JobFailed
    from otpy.jobs.model.claim import Settled
    from otpy.jobs.model.job import Job
    from otpy.jobs.model.new import NewJob

__all__ = ["BUSY", "Figures", "Word"]

Word: TypeAlias = Literal[
    "enqueued", "started", "completed", "failed", "retried", "dead", "cancelled", "rescued", "released", "snoozed"
]

BOUNDS = (0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 1_800.0, 7_200.0)
"""Seconds between which waits and runs of jobs are told apart."""
STORE_BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1.0, 5.0)
"""The same for what the store does."""
MOST = 200
"""Pairs of a queue and a kind that are counted apart: somebody may name a queue for each of his customers."""
OTHER = ("other", "other")
"""The pair of all further ones."""
BUSY = ("StoreBusyError", "StoreConflictError", "StoreLockedError")
"""Errors of a store that others have been holding."""


class Figures:
    """Of one engine, as long as its program lives: it outlives an engine that is started again.

    Nothing is counted, and nothing costs anything, until `is_on`.
    """

    def __init__(self) -> None:
        """Nothing has happened."""
        self.is_on = False
        self.numbers: dict[tuple[Word, str, str], int] = {}
        """How often, by what happened, queue and kind."""
        self.waits: dict[tuple[str, str], Histogram] = {}
        """Seconds from when a job might begin until it did, by queue and kind."""
        self.runs: dict[tuple[str, str], Histogram] = {}
        """Seconds of attempts."""
        self.store = {
            "commit": Histogram(STORE_BOUNDS),
            "look": Histogram(STORE_BOUNDS),
            "loan": Histogram(STORE_BOUNDS),
        }
        """Seconds for which the writer has waited for the store: to commit, to look, for a job's own statements."""
        self.busy = 0
        """Requests that met somebody else's lock."""
        self.renew_failures = 0
        """Renewals of leases that the store has failed."""
        self.leases_lost = 0
        """Leases that turned out to be over when they were to be renewed, or were trusted no longer."""
        self.pairs: set[tuple[str, str]] = set()
        """Queues and kinds of which anything is counted."""
        self._decided: dict[tuple[int, int], tuple[Word, str, str]] = {}

    def begin(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Count from now on; of these queues and kinds it is known that there may be some, so they begin with nothing.

        Who asks for an increase is not told of one if nothing was there before it.
        """
        for pair in pairs:
            self._pair(*pair)
        self.is_on = True

    # In the writer's thread.

    def enqueued(self, made: Iterable[NewJob]) -> None:
        """These are kept."""
        for new in made:
            self._count("enqueued", new.queue, new.kind)

    # In the scheduler's.

    def begun(self, job: Job, wall: int) -> None:
        """An attempt begins, at this time of the store."""
        self._count("started", job.queue, job.kind)
        self._histogram(self.waits, job).observe(max(0, wall - job.run_at) / 1_000)

    def ended(self, job: Job, seconds: float) -> None:
        """An attempt has taken so long, whatever came of it."""
        self._histogram(self.runs, job).observe(seconds)

    def decided(self, job: Job, settled: Settled, *, is_early: bool) -> None:
        """So an attempt is to be written down; it counts when the store has taken it.

        `is_early`: it has already, for the end of a kind with `early_ack` is there before it begins.
        """
        word = _word(job, settled)
        if is_early and word == "completed":
            self._count(word, job.queue, job.kind)
        elif word is not None:
            self._decided[job.id, job.token] = (word, job.queue, job.kind)

    @property
    def awaits(self) -> bool:
        """Whether anything that was decided is not written yet."""
        return bool(self._decided)

    def written(self, id: int, token: int, *, is_accepted: bool) -> None:
        """The store has taken it, or it is somebody else's job."""
        found = self._decided.pop((id, token), None)
        if found is not None and is_accepted:
            self._count(*found)

    # In the scheduler's or the janitor's: one that has failed is told by one of them.

    def failed(self, event: JobFailed) -> None:
        """An attempt has, or a job is dead."""
        if not self.is_on:
            return
        if event.failure:
            self._count("failed", event.queue, event.kind)
        if event.state == "dead":
            self._count("dead", event.queue, event.kind)
        elif event.state in ("ready", "scheduled"):
            self._count("retried", event.queue, event.kind)

    def rescued(self, jobs: Iterable[Job]) -> None:
        """These were taken back, for their program was not heard of."""
        if self.is_on:
            for job in jobs:
                self._count("rescued", job.queue, job.kind)

    def _count(self, word: Word, queue: str, kind: str) -> None:
        key = (word, *self._pair(queue, kind))
        self.numbers.setdefault(key, 0)
        self.numbers[key] += 1  # no call is in it: two threads may count the same, and none is lost

    def _histogram(self, of: dict[tuple[str, str], Histogram], job: Job) -> Histogram:
        pair = self._pair(job.queue, job.kind)
        found = of.get(pair)
        if found is None:
            found = of[pair] = Histogram(BOUNDS)
        return found

    def _pair(self, queue: str, kind: str) -> tuple[str, str]:
        pair = (queue, kind)
        if pair not in self.pairs:
            if len(self.pairs) >= MOST:
                return OTHER
            self.pairs.add(pair)
        return pair


def _word(job: Job, settled: Settled) -> Word | None:
    """What is counted of it; None for what `JobFailed` tells of."""
    if settled.state == "done":
        return "completed"
    if settled.state == "cancelled":
        return "cancelled"
    if not settled.is_free or not settled.goes_on:
        return None
    return "released" if settled.run_at is not None and settled.run_at <= job.run_at else "snoozed"
