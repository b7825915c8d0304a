"""Between rows and values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.jobs.model.job import Attempt, Job

if TYPE_CHECKING:
    import sqlite3

__all__ = ["COLUMNS", "attempts_of", "job_of"]

COLUMNS = ", ".join("own_key" if name == "key" else name for name in Job._fields if name != "attempts")
"""What `job_of` wants: the fields of a job in their order, of which `attempts` is the last."""


def job_of(row: tuple[Any, ...]) -> Job:
    """A row of `COLUMNS` as a job; its attempts are not read."""
    return Job(*row)


def attempts_of(db: sqlite3.Connection, id: int) -> tuple[Attempt, ...]:
    """The failed attempts of a job, the oldest first."""
    text = "select number, at, failure, text, trace from otpy_failure where job = ? order by at, number"
    names = ("number", "at", "failure", "text", "trace")
    return tuple(Attempt(**dict(zip(names, row, strict=True))) for row in db.execute(text, (id,)))
