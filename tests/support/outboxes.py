"""Receivers that are ill, slow or lie, and outboxes before them, as tests of the outbox use them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any, Literal

import otpy
from otpy.resilience import Outbox, Topic, received

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from otpy.resilience import Batch, Receipt
    from otpy.runtime.system import System

__all__ = ["Hub", "Mood", "kept", "outbox", "values"]

Mood = Literal["well", "down", "ack_lost", "half", "nothing"]

TABLE = "create table if not exists reading (id integer primary key, agent text, key text, value integer)"


class Hub:
    """A receiver with a database of its own; what it does with a batch is its mood."""

    def __init__(self, path: Path, mood: Mood = "well") -> None:
        self.path = path
        self.mood: Mood = mood
        self.calls = 0
        self.batches: list[Batch] = []
        self.error: Exception | None = None
        with closing(self.connect()) as db:
            db.execute(TABLE)
            db.commit()

    def connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=30.0)

    def post(self, batch: Batch) -> Receipt | int | None:
        """A sender: over no network at all."""
        self.calls += 1
        self.batches.append(batch)
        if self.error is not None:
            raise self.error
        if self.mood == "down":
            raise ConnectionError("the hub is down")
        if self.mood == "nothing":
            return batch.rows[0].sequence - 1
        with closing(self.connect()) as db:
            part = batch
            if self.mood == "half":
                part = type(batch)(batch.agent, batch.incarnation, batch.topic, batch.rows[: len(batch.rows) // 2 or 1])
            take(db, part)
        if self.mood in ("ack_lost", "half"):
            raise ConnectionError("the line was cut before the answer")
        return None

    def rows(self) -> list[tuple[str, int]]:
        """What it has taken, in order: keys and values."""
        with closing(self.connect()) as db:
            return db.execute("select key, value from reading order by id").fetchall()


def take(db: sqlite3.Connection, batch: Batch) -> None:
    """The effect of a batch."""
    with received(db, batch) as fresh:
        rows = [(batch.agent, row.key, row.payload) for row in fresh]
        db.executemany("insert into reading (agent, key, value) values (?, ?, ?)", rows)


def outbox(path: Path, *senders: Any, topics: Sequence[Topic | str] = ("t",), **options: Any) -> Outbox:
    """One without a ramp and without syncs, which is what most tests want."""
    given = {"ramp": 0.0, "agent": "agent", "batch": 10, "profile": "fast"} | options
    return Outbox("readings", path, senders=list(senders), topics=list(topics), **given)


def kept(system: System, one: Outbox) -> Outbox:
    """It, with its actors."""
    system.start(one.child())
    return one


def values(one: Outbox) -> list[Any]:
    """What waits in its file, in order; it must be closed."""
    with closing(sqlite3.connect(one.plan.path)) as db:
        found = db.execute("select sequence, payload from otpy_outbox order by topic, sequence").fetchall()
    return [otpy.resilience.Row(number, "", 0.0, packed).payload for number, packed in found]
