"""One transaction on the file: `Transaction` for SQLite."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

from otpy.jobs.store.sql.fair import claim_alone, first, take
from otpy.jobs.store.sql.tally import Tally
from otpy.jobs.store.sql.transaction import SqlTransaction
from otpy.jobs.store.sql.ways import Ways
from otpy.jobs.store.sqlite import leading, lent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from otpy.jobs.model.claim import Ask
    from otpy.jobs.model.lead import Fence, Lead
    from otpy.jobs.store.sql.base import Base
    from otpy.jobs.store.sql.tally import Known

__all__ = ["MISTAKES", "SqliteTransaction"]

MISTAKES = (
    *(sqlite3.ProgrammingError, sqlite3.InterfaceError, sqlite3.DataError, sqlite3.IntegrityError),
    *(UnicodeEncodeError, OverflowError),
)
"""What is said of a value that SQLite cannot take: the fault of who gave it, while file and disk are well."""

SPARE = 1_000
"""Unused pages that a file may keep."""
SHRINK = 500
"""Pages that one round gives back."""

GIVING = """
select value from json_each(?) as asked where exists (
    select 1 from otpy_job indexed by otpy_job_kind
    where state = 'ready' and queue = asked.value {limits}
)
"""
"""One look for each kind and each set of labels, for a claim in vain would read all that is ready for others, however
much that is, while all writers wait. SQLite looks as far as somebody reads on."""


def giving(db: Base, ask: Ask, limits: str, values: tuple[str, ...]) -> Iterator[str]:
    """The queues in which anything is ready that these agents can do, in their order."""
    for (queue,) in db.execute(GIVING.format(limits=limits), (json.dumps(ask.queues), *values)):
        yield queue


def lock(db: Base, keys: list[str]) -> None:
    """Nothing is to be done: of all transactions that may write one is under way."""


class SqliteTransaction(SqlTransaction):
    """Between `begin immediate` and `commit`: nobody else writes meanwhile."""

    mistakes = MISTAKES
    ways = Ways(giving, claim_alone, first, take, lock)

    def __init__(self, db: sqlite3.Connection, now: int, known: Known, redact: Callable[[str], str] | None) -> None:
        """Begun already."""
        super().__init__(db, now, Tally(known), redact)
        self._connection = db

    def prune(self, before: int, limit: int) -> int:
        """Forget old jobs; what the file does not need goes back to the disk."""
        gone = super().prune(before, limit)
        self._shrink()
        return gone

    def hurry(self) -> None:
        """Wait for nobody: here one transaction writes at a time, and this one has begun."""

    def lent(self, until: float) -> AbstractContextManager[lent.Lent]:
        """Lend it to a handler."""
        return lent.lent(self._connection, until)

    def elect(self, name: str, owner: str, ttl_ms: int, over: Lead | None = None) -> int | None:
        """Lead if nobody else does."""
        return leading.elect(self._db, name, owner, ttl_ms, over, self.now)

    def lead_on(self, fence: Fence, owner: str, ttl_ms: int) -> bool:
        """Go on leading."""
        return leading.lead_on(self._db, fence, owner, ttl_ms, self.now)

    def resign(self, fence: Fence, owner: str) -> None:
        """Lead no longer."""
        leading.resign(self._db, fence, owner, self.now)

    def _under(self, fence: Fence) -> str | None:
        """Whether it leads; nobody else writes meanwhile."""
        return leading.holds(self._db, fence, self.now)

    def elected(self, prefix: str) -> list[tuple[str, Lead]]:
        """Who was elected last."""
        return leading.leads(self._db, prefix)

    def _shrink(self) -> None:
        """Give unused pages back when they are many, a few at a time; else they are soon used again."""
        unused, pages = (self._db.execute(f"pragma {what}").fetchone()[0] for what in ("freelist_count", "page_count"))
        if unused > SPARE and unused > pages // 4:
            for _ in range(min(SHRINK, unused - SPARE)):
                self._db.execute("pragma incremental_vacuum(1)")  # Python takes but one step of a pragma without rows
