"""Which version the tables have, how they get to the one that is known here, and whether the file is whole."""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING

from otpy.jobs.errors import StoreBusyError, StoreVersionError
from otpy.jobs.store.sql.scripts import scripts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["KNOWN", "check", "make", "migrate", "version_of"]

CHECK = 2.0
"""Seconds that the check after an unclean stop may take: a large file is used without it."""
STEPS = 10_000
"""Instructions of SQLite between two looks at the time."""

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
        broken = sqlite3.DatabaseError(f"its version is {found!r}")
        broken.sqlite_errorname = "SQLITE_CORRUPT"
        raise broken
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


def check(db: sqlite3.Connection) -> None:
    """Look whether the file is whole, for a bounded time. Raises sqlite3.DatabaseError."""
    until = time.monotonic() + CHECK
    db.set_progress_handler(lambda: time.monotonic() > until, STEPS)
    try:
        (said,) = db.execute("pragma quick_check(1)").fetchone()
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorname", "") != "SQLITE_INTERRUPT":
            raise
        return
    finally:
        db.set_progress_handler(None, 0)
    if said != "ok":
        broken = sqlite3.DatabaseError(said)
        broken.sqlite_errorname = "SQLITE_CORRUPT"
        raise broken
