"""How many jobs are in which state: each transaction adds rows of its own, so that none waits for another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from otpy.jobs.store.sql.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otpy.jobs.store.sql.base import Base
    from otpy.jobs.store.sql.tally import Known

__all__ = ["Counts", "Mark"]

Parts: TypeAlias = tuple[list[Any], list[Any], list[Any]]
"""Queues, states and numbers."""

PARTS = """
insert into otpy_tally_part (queue, state, number)
select * from unnest(cast(? as text[]), cast(? as text[]), cast(? as bigint[]))
"""
MARKED = """
insert into otpy_commit (program, number, at) values (?, ?, ?)
on conflict (program) do update set number = excluded.number, at = excluded.at
"""
BESIDE = f"counted as ({PARTS})"
"""With an insertion that returns ids: one way there and back for both."""
GATHER = """
with gone as (
    delete from otpy_tally_part where ctid = any (array(select ctid from otpy_tally_part for update skip locked))
    returning queue, state, number
)
insert into otpy_tally_part (queue, state, number) select queue, state, sum(number) from gone group by queue, state
"""
"""Many rows become few. What another transaction is at is left to that."""


class Mark(NamedTuple):
    """What a transaction leaves of itself, for the program alone: who has lost the answer to a commit looks for it.

    The number that the server gives a transaction will not do instead: a server that dies before that is on its disk
    gives it to another one, whose end would be taken for that of ours. Written before the commit is asked for, so that
    who looks waits for one that is still on its way.
    """

    program: str
    number: int
    at: int


class Counts(Tally):
    """The changes of one transaction."""

    def __init__(self, known: Known, mark: Mark | None = None, *, is_gathering: bool) -> None:
        """With what earlier ones have found; `is_gathering` makes few rows of many. Without a mark nobody asks."""
        super().__init__(known)
        self.written = 0
        """Rows that were added."""
        self.is_marked = self._has_moved = False
        """Whether it leaves a mark: whatever it has moved, also when the numbers are as before in the end."""
        self._beside = [] if mark is None else [f"marked as ({MARKED})"]
        self._mark: tuple[Any, ...] = mark or ()
        self._is_gathering = is_gathering

    def moves(self, queue: str, before: str, after: str, number: int) -> None:
        """So many have another state now, or again the one that they had."""
        super().moves(queue, before, after, number)
        self._has_moved = self._has_moved or number > 0

    def write(self, db: Base) -> None:
        """Add them, in the transaction."""
        parts = self._taken()
        if parts is not None:
            db.execute(_with(self._beside, PARTS), (*self._mark, *parts))
            self._wrote(db, parts)
        elif self._has_moved and self._mark and not self.is_marked:
            db.execute(MARKED, self._mark)
            self.is_marked = True

    def write_beside(self, db: Base, insert: str, values: Sequence[Any]) -> list[int]:
        """Do an insertion, add them with it, and return the ids of its rows, in no order; there must be some."""
        parts = self._taken()
        if parts is None:
            return [one for (one,) in db.execute(insert, values).fetchall()]
        made = db.execute(_with([*self._beside, BESIDE], insert), (*self._mark, *parts, *values)).fetchall()
        self._wrote(db, parts)
        return [one for (one,) in made]

    def _taken(self) -> Parts | None:
        """What there is to add, as columns; None when that is nothing."""
        changes = [(queue, state, number) for (queue, state), number in self._changes.items() if number]
        self._changes.clear()
        if not changes:
            return None
        queues, states, numbers = (list(column) for column in zip(*changes, strict=True))
        return queues, states, numbers

    def _wrote(self, db: Base, parts: Parts) -> None:
        self.written += len(parts[0])
        self.is_marked = bool(self._mark)
        if self._is_gathering:
            self._is_gathering = False
            db.execute(GATHER)


def _with(beside: Sequence[str], what: str) -> str:
    return f"with {', '.join(beside)} {what}" if beside else what
