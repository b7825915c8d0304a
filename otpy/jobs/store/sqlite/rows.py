"""Between rows and values."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from otpy.jobs.model import Attempt, Job

if TYPE_CHECKING:
    import sqlite3

__all__ = ["COLUMNS", "attempts_of", "job_of"]

FIELDS = [field.name for field in fields(Job) if field.name != "attempts"]

COLUMNS = ", ".join("own_key" if name == "key" else name for name in FIELDS)
"""What `job_of` wants, in its order."""


def job_of(row: tuple[Any, ...], attempts: tuple[Attempt, ...] = ()) -> Job:
    """A row of `COLUMNS` as a job."""
    return Job(**dict(zip(FIELDS, row, strict=True)), attempts=attempts)


def attempts_of(db: sqlite3.Connection, id: int) -> tuple[Attempt, ...]:
    """The failed attempts of a job, the oldest first."""
    found = db.execute("select number, at, failure, text from failure where job = ? order by at, number", (id,))
    return tuple(Attempt(number=number, at=at, failure=failure, text=text) for number, at, failure, text in found)
