"""Which version the tables have, how they get to the one that is known here."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from otpy.disk.sqlite import broken
from otpy.jobs.errors import StoreBusyError, StoreVersionError
from otpy.jobs.store.sql.scripts import scripts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["KNOWN", "make", "migrate", "version_of"]

SCRIPTS = scripts_of(__package__)
"""What leads from each version to the next; the first one makes all tables of an empty file."""

KNOWN = len(SCRIPTS)
"""The version that this otpy reads and writes."""


def version_of(db: sqlite3.Connection | sqlite3.Cursor) -> int:
    """The version of its tables; 0 when it has none. In a table, for `user_version` is the caller's own."""
    if db.execute("select 1 from sqlite_master where name = 'otpy_schema'").fetchone() is None:
        return 0
    (found,) = db.execute("select max(version) from otpy_schema").fetchone()
    if not isinstance(found, int):
        raise broken(f"its version is {found!r}")
    return found


def migrate(db: sqlite3.Connection, path: str, *, is_alone: bool, scripts: Sequence[str] = SCRIPTS) -> None:
    """Bring the tables to the version that this otpy knows, all of it or nothing.

    Raises:
        StoreVersionError: a newer otpy has written it.
        StoreBusyError: another program has it open with the old tables.
    """
    found = version_of(db)
    if found < len(scripts):
        db.execute("begin immediate")  # another program may do the same
        try:
            found = version_of(db)
            if 0 < found < len(scripts) and not is_alone:
                problem = f"another program uses it with tables of version {found}: stop that first"
                raise StoreBusyError(path, problem)  # noqa: TRY301 - to be rolled back
            _run(db, found, scripts)
            db.execute("commit")
        except BaseException:
            db.execute("rollback")
            raise
    if found > len(scripts):
        raise StoreVersionError(path, found, len(scripts))


def make(db: sqlite3.Connection | sqlite3.Cursor) -> None:
    """Make all tables in a file that has none of ours, in a transaction that somebody else ends."""
    _run(db, 0, SCRIPTS)


def _run(db: sqlite3.Connection | sqlite3.Cursor, found: int, scripts: Sequence[str]) -> None:
    if not found:
        db.execute("create table otpy_schema (version integer not null)")
    for number, script in enumerate(scripts[found:], found + 1):
        for statement in _statements(script):
            db.execute(statement)
        db.execute("insert into otpy_schema (version) values (?)", (number,))


def _statements(script: str) -> list[str]:
    """Its statements, one by one: `executescript` would commit what is open."""
    found, part = [], ""
    for line in script.splitlines(keepends=True):
        part += line
        if sqlite3.complete_statement(part):
            found.append(part)
            part = ""
    return found
