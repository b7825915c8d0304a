"""What a transaction changes: how many jobs are in which state, written once for all, and what may be done now."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otpy.jobs.model.job import Job, State
    from otpy.jobs.model.new import NewJob
    from otpy.jobs.store.sql.base import Base

__all__ = ["Known", "Tally"]


@dataclass(slots=True)
class Known:
    """What holds over transactions."""

    horizon: int | None = None
    """The first time at which something has to be done, as who does it was told; None: who knows."""


class Tally:
    """The changes of one transaction."""

    def __init__(self, known: Known | None = None) -> None:
        """None yet; `known` is what earlier transactions on this connection have found."""
        self._changes: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._known = Known() if known is None else known
        self._horizon = self._known.horizon
        self.ready: set[str] = set()
        """Queues in which a job has become ready."""
        self.made: list[NewJob] = []
        """What was enqueued."""
        self.due: int | None = None
        """The first time that was written down at which something has to be done, if it is before all known ones."""

    def add(self, queue: str, state: State) -> None:
        """One more."""
        self._changes[queue, state] += 1
        if state == "ready":
            self.ready.add(queue)

    def move(self, job: Job, state: State) -> None:
        """One has another state now."""
        self.moves(job.queue, job.state, state, 1)

    def moves(self, queue: str, before: str, after: str, number: int) -> None:
        """So many have another state now."""
        self._changes[queue, before] -= number
        self._changes[queue, after] += number
        if after == "ready":
            self.ready.add(queue)

    def comes(self, at: int | None) -> None:
        """Something has to be done then; None: nothing more."""
        if at is not None and (self._horizon is None or at < self._horizon):
            self._horizon = self.due = at

    def looked(self, due: int | None) -> None:
        """Who does these things has just been told when the next ones come."""
        self._horizon = due

    def committed(self) -> None:
        """All of this is kept."""
        self._known.horizon = self._horizon

    def drop(self, gone: Iterable[tuple[str, str]]) -> None:
        """These are no longer there: queue and state of each."""
        for one in gone:
            self._changes[one] -= 1

    def write(self, db: Base) -> None:
        """Write them down, in the transaction: before it is committed, or before somebody looks in it."""
        if not self._changes:
            return
        changes = [(queue, state, number) for (queue, state), number in self._changes.items() if number]
        self._changes.clear()
        db.executemany(
            "insert into otpy_tally (queue, state, number) values (?, ?, ?)"
            " on conflict (queue, state) do update set number = otpy_tally.number + excluded.number",
            changes,
        )
