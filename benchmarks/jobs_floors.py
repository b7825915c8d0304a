"""The floor of jobs: bare sqlite3 with the same settings, and a plain call."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from benchmarks.measure import rate
from benchmarks.model import Figures
from benchmarks.stores import folder, one_by_one

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.model import Job

VERSION = f"SQLite {sqlite3.sqlite_version}"

TABLE = """
pragma journal_mode = wal;
pragma synchronous = full;
create table job (id integer primary key autoincrement, kind text, queue text, state text, args blob, run_at integer);
create index due on job (run_at) where state = 'scheduled';
"""
INSERT = "insert into job (kind, queue, state, args, run_at) values (?, ?, ?, ?, ?)"


@contextmanager
def store() -> Iterator[sqlite3.Connection]:
    with folder() as place, closing(sqlite3.connect(place / "floor.db", isolation_level=None)) as db:
        db.executescript(TABLE)
        yield db


def enqueue(job: Job) -> Figures:
    """A commit for as many rows as there are producers."""
    rows = [("kind", "queue", "scheduled", b"x" * 8, 2_000_000_000_000)] * int(job.sizes.get("producers", 1))
    with store() as db:

        def put(_: int) -> None:
            db.execute("begin immediate")
            for row in rows:
                db.execute(INSERT, row)
            db.execute("commit")

        return rate(job, lambda count: one_by_one(-(-count // len(rows)), put))


def nothing() -> None:
    """What is called."""


def overhead(job: Job) -> Figures:
    count = 1_000_000
    return Figures(values={"overhead": one_by_one(count, lambda _: nothing()) / count * 1e6})


MEASURES: dict[str, Callable[[Job], Figures]] = {"enqueue_1": enqueue, "enqueue_16": enqueue, "overhead": overhead}
