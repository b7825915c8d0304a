"""How many jobs are in which state, kept beside them: changes are gathered and written once for each transaction."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from otpy.jobs.model import Job, State

__all__ = ["Tally"]


class Tally:
    """The changes of one transaction."""

    def __init__(self) -> None:
        """None yet."""
        self._changes: Counter[tuple[str, str]] = Counter()

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

    def write(self, db: sqlite3.Connection) -> None:
        """Write them down, in the transaction."""
        changes = [(queue, state, number) for (queue, state), number in self._changes.items() if number]
        db.executemany(
            "insert into tally (queue, state, number) values (?, ?, ?)"
            " on conflict (queue, state) do update set number = number + excluded.number",
            changes,
        )
