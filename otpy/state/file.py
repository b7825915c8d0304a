"""The file of states, and all that is asked of its tables."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from otpy.core.value import value
from otpy.disk.owned import Layout, OwnedFile
from otpy.disk.sqlite import broken
from otpy.errors import StateFileError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

__all__ = ["Row", "States", "Tables"]

VERSION = 1

KEPT_ASIDE = 3
"""States of one path that have failed and are kept to be looked at, the newest."""

SCRIPT = """
create table otpy_state (
    path text primary key, data blob not null, saved_at integer not null, is_fresh integer not null,
    tries integer not null, program integer not null, incarnation integer not null
) without rowid;
create table otpy_state_aside (
    number integer primary key, path text not null, data blob not null, saved_at integer not null,
    aside_at integer not null
);
create table otpy_state_note (name text primary key, value integer not null) without rowid;
insert into otpy_state_note values ('version', 0), ('program', 0);
"""

SAVE = """
insert into otpy_state values (?, ?, ?, ?, ?, ?, ?)
on conflict (path) do update set data = excluded.data, saved_at = excluded.saved_at, is_fresh = excluded.is_fresh,
    tries = excluded.tries, program = excluded.program, incarnation = excluded.incarnation
where (otpy_state.program, otpy_state.incarnation) <= (excluded.program, excluded.incarnation)
"""


@value(kw_only=True)
class Row:
    """What is known of a state without reading it."""

    saved_at: int
    """Milliseconds since 1970."""
    is_fresh: bool
    """Whether nothing has run at its path since."""
    tries: int = 0
    """Starts that began with it and have not succeeded."""


class Tables:
    """What is done with them, by whoever has begun a transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        """On this connection."""
        self._db = db

    def begin_program(self) -> int:
        """A number for who has just opened the file, higher than that of any before."""
        (number,) = self._db.execute(
            "update otpy_state_note set value = value + 1 where name = 'program' returning value"
        ).fetchone()
        return int(number)

    def program(self) -> int:
        """Who has opened it last."""
        (number,) = self._db.execute("select value from otpy_state_note where name = 'program'").fetchone()
        return int(number)

    def rows(self) -> dict[str, Row]:
        """All states, by path."""
        found = self._db.execute("select path, saved_at, is_fresh, tries from otpy_state")
        return {path: Row(saved_at=at, is_fresh=bool(fresh), tries=tries) for path, at, fresh, tries in found}

    def read(self, path: str) -> bytes | None:
        """The state itself."""
        row = self._db.execute("select data from otpy_state where path = ?", (path,)).fetchone()
        return None if row is None else bytes(row[0])

    def save(self, path: str, data: bytes, row: Row, who: tuple[int, int]) -> bool:
        """Write one; False when a later incarnation has."""
        values = (path, data, row.saved_at, row.is_fresh, row.tries, *who)
        return self._db.execute(SAVE, values).rowcount > 0

    def begin(self, path: str, tries: int, who: tuple[int, int]) -> None:
        """An incarnation is about to be given one."""
        script = "update otpy_state set tries = ?, program = ?, incarnation = ? where path = ?"
        self._db.execute(script, (tries, *who, path))

    def note(self, path: str, row: Row) -> None:
        """What has become of it."""
        script = "update otpy_state set tries = ?, is_fresh = ? where path = ?"
        self._db.execute(script, (row.tries, row.is_fresh, path))

    def set_aside(self, path: str, now: int) -> None:
        """Keep one that has failed where nobody is given it."""
        self._db.execute(
            "insert into otpy_state_aside (path, data, saved_at, aside_at) "
            "select path, data, saved_at, ? from otpy_state where path = ?",
            (now, path),
        )
        self._db.execute("delete from otpy_state where path = ?", (path,))
        self._db.execute(
            "delete from otpy_state_aside where path = ? and number not in "
            "(select number from otpy_state_aside where path = ? order by number desc limit ?)",
            (path, path, KEPT_ASIDE),
        )


def _version_of(db: sqlite3.Connection) -> int:
    if db.execute("select 1 from sqlite_master where name = 'otpy_state_note'").fetchone() is None:
        return 0
    row = db.execute("select value from otpy_state_note where name = 'version'").fetchone()
    if row is None or type(row[0]) is not int:
        raise broken(f"its version is {row!r}")
    return int(row[0])


def _make(db: sqlite3.Connection) -> None:
    for statement in SCRIPT.split(";"):
        db.execute(statement)
    db.execute("update otpy_state_note set value = ? where name = 'version'", (VERSION,))


LAYOUT = Layout(
    version=VERSION,
    version_of=_version_of,
    make=_make,
    error=StateFileError,
    taken="another program, or another system of this one, has it open",
    point="state",
    forked="it was opened before a fork: a child keeps no states",
)


class States(OwnedFile):
    """Used by one thread at a time. Raises StateFileError, as all it does."""

    def __init__(self, path: str, *, patience: float = 5.0) -> None:
        """Open it, as `OwnedFile` does, and be the only one who may write from now on."""
        super().__init__(path, LAYOUT, patience=patience)
        with self.changing(is_brief=True) as db:
            self.number = Tables(db).begin_program()

    @contextmanager
    def transaction(self, *, is_brief: bool = False) -> Iterator[Tables]:
        """Begin one, and commit it in the end; one that `is_brief` outlives the program, but maybe no power failure."""
        with self.changing(is_brief=is_brief) as db:
            tables = Tables(db)
            if tables.program() != self.number:
                raise StateFileError(self.path, "another program has opened it since: this one may no longer write")
            yield tables

    @contextmanager
    def reading(self) -> Iterator[Tables]:
        """To look at it, outside of any transaction."""
        with self.looking() as db:
            yield Tables(db)
