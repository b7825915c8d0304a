"""How many jobs are in which state: each transaction adds rows of its own, so that none waits for another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from otpy.jobs.store.sql.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otpy.jobs.store.sql.base import Base
    from otpy.jobs.store.sql.tally import Known

__all__ = ["Counts"]

Parts: TypeAlias = tuple[list[Any], list[Any], list[Any]]
"""Queues, states and numbers."""

PARTS = """
insert into otpy_tally_part (queue, state, number)
select * from unnest(cast(? as text[]), cast(? as text[]), cast(? as bigint[]))
"""
XID = "cast(pg_current_xact_id() as text)"
ADD = f"{PARTS} returning {XID}"
BESIDE = f"with counted as ({PARTS}), made as ({{insert}}) select id, {XID} from made"  # noqa: S608 - our own text
"""With an insertion that returns ids: one way there and back for both."""
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
        parts = self._taken()
        if parts is not None:
            self._wrote(db, parts, db.execute(ADD, parts).fetchone()[0])

    def write_beside(self, db: Base, insert: str, values: Sequence[Any]) -> list[int]:
        """Do an insertion, add them with it, and return the ids of its rows, in no order; there must be some."""
        parts = self._taken()
        if parts is None:
            return [one for (one,) in db.execute(insert, values).fetchall()]
        made = db.execute(BESIDE.format(insert=insert), (*parts, *values)).fetchall()
        self._wrote(db, parts, made[0][1])
        return [one for one, _ in made]

    def _taken(self) -> Parts | None:
        """What there is to add, as columns; None when that is nothing."""
        changes = [(queue, state, number) for (queue, state), number in self._changes.items() if number]
        self._changes.clear()
        if not changes:
            return None
        queues, states, numbers = (list(column) for column in zip(*changes, strict=True))
        return queues, states, numbers

    def _wrote(self, db: Base, parts: Parts, xid: str) -> None:
        self.xid = xid
        self.written += len(parts[0])
        if self._is_gathering:
            self._is_gathering = False
            db.execute(GATHER)
