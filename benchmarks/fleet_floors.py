"""What a fleet stands beside: bare sqlite3, a dictionary, tasks of asyncio; without any of its promises."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import count as counter
from typing import TYPE_CHECKING

import msgpack

from benchmarks import fleet_beats, fleet_drains
from benchmarks.fleet_side import PAYLOAD
from benchmarks.measure import rate
from benchmarks.model import Figures
from benchmarks.stores import folder, in_threads, one_by_one

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.model import Job

VERSION = f"SQLite {sqlite3.sqlite_version}"

TABLE = """
pragma journal_mode = wal;
pragma synchronous = full;
create table outbox (
    topic text not null, sequence integer not null, life integer not null, key text not null,
    created integer not null, born integer not null, payload blob not null, primary key (topic, sequence)
) without rowid;
"""
FEW = 2_000
"""Rows that are enough where each takes long."""

INSERT = "insert into outbox values ('t', ?, 1, 'k', 1, 1, ?)"


@contextmanager
def store() -> Iterator[sqlite3.Connection]:
    with (
        folder() as place,
        closing(sqlite3.connect(place / "floor.db", isolation_level=None, check_same_thread=False)) as db,
    ):
        db.executescript(TABLE)
        yield db


def put(job: Job) -> Figures:
    """`one_commit_each`; and the floor, which commits `together` so many, in one thread."""
    if job.sizes.get("together"):
        return together(job)
    lock, numbers = threading.Lock(), counter(1)
    with store() as db:

        def each(_: int) -> None:
            data = msgpack.packb(PAYLOAD)
            with lock:
                db.execute("begin immediate")
                db.execute(INSERT, (next(numbers), data))
                db.execute("commit")

        found = rate(job, lambda count: in_threads(job.size("producers"), count, each))
    own = rate(replace(job, count=None, seconds=job.seconds / 2), lambda count: own_connections(job, count), FEW)
    return replace(found, values={**found.values, "outbox_put_16@own_connections": own.values[job.experiment]})


def own_connections(job: Job, count: int) -> float:
    """Seconds in which as many threads do the same, each on a connection of its own: SQLite's lock goes to anybody."""
    ours, numbers = threading.local(), counter(1)
    opened: list[sqlite3.Connection] = []
    with store() as db:
        path = db.execute("pragma database_list").fetchone()[2]

        def each(_: int) -> None:
            if not hasattr(ours, "db"):
                ours.db = sqlite3.connect(path, isolation_level=None, timeout=60.0, check_same_thread=False)
                ours.db.execute("pragma synchronous = full")
                opened.append(ours.db)
            ours.db.execute("begin immediate")
            ours.db.execute(INSERT, (next(numbers), msgpack.packb(PAYLOAD)))
            ours.db.execute("commit")

        try:
            return in_threads(job.size("producers"), max(count, job.size("producers")), each)
        finally:
            for one in opened:
                one.close()


def together(job: Job) -> Figures:
    numbers, rows = counter(1), job.size("together")
    with store() as db:

        def some(_: int) -> None:
            db.execute("begin immediate")
            for _ in range(rows):
                db.execute(INSERT, (next(numbers), msgpack.packb(PAYLOAD)))
            db.execute("commit")

        return rate(job, lambda count: one_by_one(-(-count // rows), some))


def drain(job: Job) -> Figures:
    count = job.size("rows")
    data = msgpack.packb(PAYLOAD)
    with store() as db:
        db.execute("begin")
        db.executemany(INSERT, ((number, data) for number in range(1, count + 1)))
        db.execute("commit")

        def forward(_: int) -> None:
            sequence, _payload = db.execute(
                "select sequence, payload from outbox where topic = 't' order by sequence limit 1"
            ).fetchone()
            db.execute("begin immediate")
            db.execute("delete from outbox where topic = 't' and sequence = ?", (sequence,))
            db.execute("commit")

        return Figures(values={"outbox_drain": count / one_by_one(count, forward)})


MEASURES: dict[str, Callable[[Job], Figures]] = {
    "outbox_put_16": put,
    "outbox_drain": drain,
    "hub_beats": fleet_beats.bare_hub,
    "idle_fleet": fleet_beats.bare_idle,
    "drain_100_idle": fleet_drains.bare_drained,
}
