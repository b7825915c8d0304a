"""How many jobs are in which state, kept beside them: changes are gathered and written once for each transaction."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from otpy.jobs.model.job import Job, State

__all__ = ["Tally"]


MOST = 10_000
"""Claims whose queue is remembered."""


class Tally:
    """The changes of one transaction."""

    def __init__(self, claims: dict[int, str] | None = None) -> None:
        """None yet.

        Args:
            claims: the queues of jobs that were claimed here. A job never changes its queue, so they hold over
                transactions, whether those were kept or not, and save a look at each row that is settled.
        """
        self._changes: Counter[tuple[str, str]] = Counter()
        self._claims = {} if claims is None else claims

    def claimed(self, jobs: Iterable[Job]) -> None:
        """Remember where these belong."""
        if len(self._claims) > MOST:  # others have settled them
            self._claims.clear()
        self._claims.update({job.id: job.queue for job in jobs})

    def queue_of(self, id: int) -> str | None:
        """Where a job that is settled belongs, if it was claimed here."""
        return self._claims.pop(id, None)

    def add(self, queue: str, state: State) -> None:
        """One more."""
        self._changes[queue, state] += 1

    def move(self, job: Job, state: State) -> None:
        """One has another state now."""
        self.moves(job.queue, job.state, state, 1)

    def moves(self, queue: str, before: str, after: str, number: int) -> None:
        """So many have another state now."""
        self._changes[queue, before] -= number
        self._changes[queue, after] += number

    def drop(self, gone: Iterable[tuple[str, str]]) -> None:
        """These are no longer there: queue and state of each."""
        self._changes.subtract(gone)

    def write(self, db: sqlite3.Connection | sqlite3.Cursor) -> None:
        """Write them down, in the transaction."""
        changes = [(queue, state, number) for (queue, state), number in self._changes.items() if number]
        db.executemany(
            "insert into otpy_tally (queue, state, number) values (?, ?, ?)"
            " on conflict (queue, state) do update set number = number + excluded.number",
            changes,
        )
