"""The tables of an outbox's file, and all that is asked of them. No transaction begins or ends here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from otpy.disk.sqlite import broken
from otpy.resilience.outbox.batch import Row

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

    from otpy.resilience.outbox.books import Books

__all__ = ["VERSION", "Fresh", "Tables", "make", "version_of"]

VERSION = 1

Fresh = tuple[str, int, int, str, int, int, bytes]
"""A row as it is written: topic, number, life, key, created, born, payload."""

SCRIPT = """
create table otpy_outbox (
    topic text not null, sequence integer not null, life integer not null, key text not null,
    created integer not null, born integer not null, payload blob not null,
    primary key (topic, sequence)
) without rowid;
create table otpy_outbox_life (number integer primary key, incarnation text not null);
create table otpy_outbox_dropped (
    topic text not null, why text not null, rows integer not null, size integer not null, primary key (topic, why)
) without rowid;
create table otpy_outbox_note (name text primary key, value integer not null) without rowid;
insert into otpy_outbox_note values ('version', 0), ('clock', 0);
"""

STRETCH = 512
"""Rows that are thinned out, or looked at for their age, in one go."""

SPARE, FEW = 64, 32
"""Free pages that the file keeps for the next rows, and how many of the others a commit may give back at most: more
would hold up those who wait for it."""


def version_of(db: sqlite3.Connection) -> int:
    """The version of its tables; 0 when it has none."""
    if db.execute("select 1 from sqlite_master where name = 'otpy_outbox_note'").fetchone() is None:
        return 0
    row = db.execute("select value from otpy_outbox_note where name = 'version'").fetchone()
    if row is None or type(row[0]) is not int:
        raise broken(f"its version is {row!r}")
    return int(row[0])


def make(db: sqlite3.Connection) -> None:
    """Make them, in a transaction."""
    for statement in SCRIPT.split(";"):
        db.execute(statement)
    db.execute("update otpy_outbox_note set value = ? where name = 'version'", (VERSION,))


class Tables:
    """What is done with them, by whoever has begun a transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        """On this connection."""
        self._db = db

    def begin_life(self) -> tuple[int, str]:
        """A new incarnation, and its number; those of which no row is left are forgotten."""
        self._db.execute("delete from otpy_outbox_life where number not in (select life from otpy_outbox)")
        (number,) = self._db.execute("select coalesce(max(number), 0) + 1 from otpy_outbox_life").fetchone()
        incarnation = uuid4().hex
        self._db.execute("insert into otpy_outbox_life values (?, ?)", (number, incarnation))
        return number, incarnation

    def load(self, books: Books) -> tuple[int, int]:
        """Fill the books; gives the highest number of a row, and how long the outbox has been open."""
        books.tallies.clear()
        last, clock = 0, self._note("clock")
        groups = (
            "select topic, count(*), sum(length(payload)), max(sequence), max(born) from otpy_outbox group by topic"
        )
        for topic, rows, size, highest, born in self._db.execute(groups).fetchall():
            tally = books.tally(topic)
            tally.rows, tally.size = rows, size
            last, clock = max(last, highest), max(clock, born)
            self.look_at_head(books, topic)
        for topic, why, rows, size in self._db.execute("select topic, why, rows, size from otpy_outbox_dropped"):
            books.dropped[topic, why] = (rows, size)
        return last, clock

    def insert(self, rows: Sequence[Fresh]) -> None:
        """Put rows."""
        self._db.executemany("insert into otpy_outbox values (?, ?, ?, ?, ?, ?, ?)", rows)

    def take(self, topic: str, after: int, rows: int, size: int) -> tuple[str, list[Row], list[int]]:
        """The oldest rows after a number, of one life: its incarnation, they, and the numbers of unreadable ones."""
        text = (
            "select sequence, key, created, payload, life from otpy_outbox"
            " where topic = ? and sequence > ? order by sequence limit ?"
        )
        found: list[Row] = []
        bad: list[int] = []
        life: Any = None
        for sequence, key, created, payload, own_life in self._db.execute(text, (topic, after, rows)):
            if not (type(key) is str and type(created) is int and type(payload) is bytes):
                bad.append(sequence)
                continue
            size -= len(payload)
            if found and (size < 0 or own_life != life):
                break
            life = own_life
            found.append(Row(sequence, key, created / 1_000, payload))
        named = self._db.execute("select incarnation from otpy_outbox_life where number = ?", (life,)).fetchone()
        return (f"unknown-{life}" if named is None else str(named[0])), found, bad

    def remove(self, books: Books, topic: str, through: int) -> tuple[int, int]:
        """Take out all rows up to a number; how many, and how large."""
        return self._delete(books, topic, "sequence <= ?", [(through,)])

    def remove_some(self, books: Books, topic: str, numbers: Iterable[int]) -> tuple[int, int]:
        """Take out these rows."""
        return self._delete(books, topic, "sequence = ?", [(number,) for number in numbers])

    def cut(self, books: Books, topic: str, rows: int, size: int) -> tuple[int, int]:
        """Take out the oldest rows until so many, and so many bytes, are gone."""
        through = 0
        for sequence, one_size, _ in self._oldest(topic):
            if rows <= 0 and size <= 0:
                break
            through, rows, size = sequence, rows - 1, size - one_size
        return self.remove(books, topic, through)

    def expire(self, books: Books, topic: str, before: int) -> tuple[int, int]:
        """Take out the rows that were put before; a stretch of them."""
        through = 0
        for number, (sequence, _, born) in enumerate(self._oldest(topic)):
            if born >= before or number >= STRETCH:
                break
            through = sequence
        return self.remove(books, topic, through)

    def thin(self, books: Books, topic: str, after: int) -> tuple[int, int, int]:
        """Take out every second row of each key in the stretch after a number; how many, how large, and its end.

        The end is 0 when there is none after it.
        """
        text = "select sequence, key from otpy_outbox where topic = ? and sequence > ? order by sequence limit ?"
        stretch = self._db.execute(text, (topic, after, STRETCH)).fetchall()
        seen: dict[str, int] = {}
        gone = []
        for sequence, key in stretch:
            seen[key] = seen.get(key, 0) + 1
            if seen[key] % 2 == 0:
                gone.append(sequence)
        if not gone:  # each key has but one
            gone = [sequence for sequence, _ in stretch[1::2]] or [sequence for sequence, _ in stretch]
        rows, size = self.remove_some(books, topic, gone)
        return rows, size, stretch[-1][0] if len(stretch) == STRETCH else 0

    def look_at_head(self, books: Books, topic: str) -> None:
        """Note which row is the oldest now."""
        text = "select sequence, born from otpy_outbox where topic = ? order by sequence limit 1"
        books.tally(topic).head = self._db.execute(text, (topic,)).fetchone()

    def write_drops(self, books: Books, changed: Iterable[tuple[str, Any]]) -> None:
        """Keep how much was dropped."""
        text = "insert or replace into otpy_outbox_dropped values (?, ?, ?, ?)"
        self._db.executemany(text, [(*each, *books.dropped[each]) for each in changed])

    def write_clock(self, open_for: int) -> None:
        """Keep for how long the outbox has been open."""
        self._db.execute("update otpy_outbox_note set value = ? where name = 'clock'", (open_for,))

    def give_back(self) -> None:
        """Make the file smaller, by some of what is free."""
        (free,) = self._db.execute("pragma freelist_count").fetchone()
        for _ in range(min(FEW, free - SPARE)):
            self._db.execute("pragma incremental_vacuum(1)")  # Python takes but one step of a pragma without rows

    def _oldest(self, topic: str) -> Iterator[tuple[int, int, int]]:
        text = "select sequence, length(payload), born from otpy_outbox where topic = ? order by sequence"
        yield from self._db.execute(text, (topic,))

    def _delete(self, books: Books, topic: str, where: str, each: Sequence[tuple[int]]) -> tuple[int, int]:
        text = f"delete from otpy_outbox where topic = ? and {where} returning length(payload)"  # noqa: S608 - our own
        sizes = [size for one in each for (size,) in self._db.execute(text, (topic, *one)).fetchall()]
        tally = books.tally(topic)
        tally.rows -= len(sizes)
        tally.size -= sum(sizes)
        if sizes:
            self.look_at_head(books, topic)
        return len(sizes), sum(sizes)

    def _note(self, name: str) -> int:
        row = self._db.execute("select value from otpy_outbox_note where name = ?", (name,)).fetchone()
        return 0 if row is None else int(row[0])
