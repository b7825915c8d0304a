"""How many jobs are in which state: each transaction adds rows of its own, so that none waits for another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.jobs.store.sql.tally import Tally

if TYPE_CHECKING:
    from otpy.jobs.store.sql.base import Base
    from otpy.jobs.store.sql.tally import Known

__all__ = ["Counts"]

ADD = """
insert into otpy_tally_part (queue, state, number)
select * from unnest(cast(? as text[]), cast(? as text[]), cast(? as bigint[]))
returning cast(pg_current_xact_id() as text)
"""
GATHER = """
with gone as (
    delete from otpy_tally_part where ctid = any (array(select ctid from otpy_tally_part for update skip locked))
    returning queue, state, number
)
insert into otpy_tally_part (queue, state, number) select queue, state, sum(number) from gone group by queue, state
"""
"""Many rows become few. What another transaction is at is left to that."""


class Counts(Tally):
    """The changes of one transaction."""

    def __init__(self, known: Known, *, is_gathering: bool) -> None:
        """With what earlier ones have found; `is_gathering` makes few rows of many."""
        super().__init__(known)
        self.written = 0
        """Rows that were added."""
        self.xid: str | None = None
        """The number that the database gave the transaction, by which its end can be asked for."""
        self._is_gathering = is_gathering

    def write(self, db: Base) -> None:
        """Add them, in the transaction."""
        changes = [(queue, state, number) for (queue, state), number in self._changes.items() if number]
        self._changes.clear()
        if changes:
            queues, states, numbers = (list(column) for column in zip(*changes, strict=True))
            self.xid = db.execute(ADD, (queues, states, numbers)).fetchone()[0]
            self.written += len(changes)
            if self._is_gathering:
                self._is_gathering = False
                db.execute(GATHER)
