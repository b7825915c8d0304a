"""Between rows and values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.jobs.model.job import Attempt, Earlier, Job

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otpy.jobs.store.sql.base import Base

__all__ = ["COLUMNS", "attempts_of", "claimed", "earlier_of", "job_of", "marks", "place"]

BESIDE = ("attempts", "earlier")
"""What is kept in tables of its own."""
COLUMNS = ", ".join("own_key" if name == "key" else name for name in Job._fields if name not in BESIDE)
"""What `job_of` wants: the fields of a job in their order, without the last ones, which are `BESIDE`."""

STATE, ATTEMPT, TOKEN, OWNER, LEASE = map(Job._fields.index, ("state", "attempt", "token", "owner", "lease_until"))
"""What a claim changes."""
ID, RUN_AT, PRIORITY = map(Job._fields.index, ("id", "run_at", "priority"))
"""What says which one is first."""


def job_of(row: tuple[Any, ...]) -> Job:
    """A row of `COLUMNS` as a job; its attempts are not read."""
    return Job(*row)


def claimed(row: Sequence[Any], owner: str, until: int) -> Job:
    """A row of `COLUMNS` as the job that it is once it is claimed."""
    fields = [*row]
    fields[STATE] = "running"
    fields[ATTEMPT] += 1
    fields[TOKEN] += 1
    fields[OWNER], fields[LEASE] = owner, until
    return Job(*fields)


def place(row: Sequence[Any]) -> tuple[int, int, int]:
    """Of a row of `COLUMNS`, where it stands among those that are ready."""
    return row[PRIORITY], row[RUN_AT], row[ID]


def marks(values: Sequence[object]) -> str:
    """As many places for values as these need."""
    return ", ".join("?" * len(values))


def attempts_of(db: Base, id: int) -> tuple[Attempt, ...]:
    """The failed attempts of a job, the oldest first."""
    text = "select number, at, failure, text, trace from otpy_failure where job = ? order by at, number"
    names = ("number", "at", "failure", "text", "trace")
    return tuple(Attempt(**dict(zip(names, row, strict=True))) for row in db.execute(text, (id,)))


def earlier_of(db: Base, id: int) -> tuple[Earlier, ...]:
    """What is left of failed attempts that are no longer kept, those that began first."""
    text = "select failure, number, first_at, last_at from otpy_digest where job = ? order by first_at, failure"
    names = ("failure", "number", "first_at", "last_at")
    return tuple(Earlier(**dict(zip(names, row, strict=True))) for row in db.execute(text, (id,)))
