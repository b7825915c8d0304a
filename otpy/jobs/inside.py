"""`enqueue_in`: enqueuing inside a transaction of the caller's own, in the same file as the caller's tables."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from otpy.core.clock import wall_clock
from otpy.jobs.errors import StoreError, StoreVersionError
from otpy.jobs.insertion import Insertion
from otpy.jobs.spec import job_specs, new_job
from otpy.jobs.store.sqlite.enqueue import insert_all
from otpy.jobs.store.sqlite.errors import store_error
from otpy.jobs.store.sqlite.store import MEMORY
from otpy.jobs.store.sqlite.tally import Tally
from otpy.jobs.store.sqlite.versions import KNOWN, make, version_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.jobs.insertion import Enqueued
    from otpy.jobs.spec import JobSpec

__all__ = ["enqueue_in"]


def enqueue_in(connection: sqlite3.Connection, *specs: JobSpec[Any]) -> list[Enqueued]:
    """Enqueue in the caller's transaction: when that is committed, the jobs are there; when it is not, they never were.

    Runs in the caller's thread, on a connection to the engine's file, whose other tables are the caller's. On a
    connection that begins transactions by itself (`isolation_level`, the default, or `autocommit=False`) one is begun
    unless it has; on another one the caller must have begun it. What is done here is undone when it fails, and the
    caller's transaction goes on. Where no engine has run on the file yet, the tables of jobs are made in the same
    transaction. The leader sees the jobs when it looks next, after at most `poll` seconds.

    Raises:
        KeyTakenError: a key was used for another job, or one is in the way.
        StoreError: it is in memory, where no engine sees it, no transaction is open, or it failed.
        StoreVersionError: its tables are of another version; older ones an engine that runs on it brings up to date.
    """
    path = _path_of(connection)
    insertion = Insertion(job_specs(specs))
    if path == MEMORY:
        raise StoreError(path, "no engine sees what is in the memory of this connection: give the path of a file")
    with _failures(path):
        _begun(connection, path)
        with _as_we_read_it(connection) as cursor:
            found = version_of(cursor)
            if found not in (0, KNOWN):
                raise StoreVersionError(path, found, KNOWN)
            return _enqueue(cursor, insertion, is_first=not found)


def _enqueue(cursor: sqlite3.Cursor, insertion: Insertion, *, is_first: bool) -> list[Enqueued]:
    now, tally = wall_clock(), Tally()
    cursor.execute("savepoint otpy_enqueue")
    try:
        if is_first:
            make(cursor)
        news = [new_job(spec, now) for spec in insertion.specs]
        made = insertion.told(iter(insert_all(cursor, tally, news, now)))
        tally.write(cursor)
    except BaseException:
        cursor.execute("rollback to otpy_enqueue")
        raise
    finally:
        cursor.execute("release otpy_enqueue")
    return made


def _begun(connection: sqlite3.Connection, path: str) -> None:
    """Have a transaction: a savepoint of ours must not be the outermost one, for its end would commit."""
    if connection.in_transaction:
        return
    if connection.isolation_level is None or getattr(connection, "autocommit", -1) is True:
        raise StoreError(path, "no transaction is open on this connection: begin one, and commit it")
    connection.execute("begin immediate")


def _path_of(connection: sqlite3.Connection) -> str:
    if not isinstance(connection, sqlite3.Connection):
        raise TypeError(f"enqueue_in takes a sqlite3.Connection first, not {connection!r}")
    cursor = connection.cursor()
    cursor.row_factory = None
    rows = cursor.execute("pragma database_list").fetchall()
    return next((_text(row[2]) for row in rows if _text(row[1]) == "main"), "") or MEMORY


def _text(value: str | bytes) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


@contextmanager
def _as_we_read_it(connection: sqlite3.Connection) -> Iterator[sqlite3.Cursor]:
    """A cursor whose rows are tuples with text in them, whatever the caller likes better."""
    cursor = connection.cursor()
    cursor.row_factory = None
    before, connection.text_factory = connection.text_factory, str
    try:
        yield cursor
    finally:
        connection.text_factory = before
        cursor.close()


@contextmanager
def _failures(path: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise store_error(path, error) from None
