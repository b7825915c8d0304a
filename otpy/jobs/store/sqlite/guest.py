"""The caller's own connection to the file."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from otpy.core.clock import wall_clock
from otpy.disk.files import seal_if_new
from otpy.jobs.errors import StoreError
from otpy.jobs.store.guest import Guest
from otpy.jobs.store.sql.enqueue import insert_all
from otpy.jobs.store.sql.tally import Tally
from otpy.jobs.store.sqlite.errors import store_error
from otpy.jobs.store.sqlite.leading import holds
from otpy.jobs.store.sqlite.store import MEMORY
from otpy.jobs.store.sqlite.versions import KNOWN, make, version_of

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["guest"]


@contextmanager
def guest(connection: sqlite3.Connection) -> Iterator[Guest]:
    """Have a transaction on it; the other program sees by itself what the file has got."""
    path = _path_of(connection)
    if path == MEMORY:
        raise StoreError(path, "no engine sees what is in the memory of this connection: give the path of a file")
    try:
        _begun(connection, path)
        with _as_we_read_it(connection) as cursor:
            tally = Tally()
            making, inserting = partial(_make, cursor, path), partial(insert_all, cursor, tally)
            holding = partial(holds, cursor)
            yield Guest(path, cursor, wall_clock(), tally, version_of(cursor), KNOWN, making, inserting, holding, bool)
    except sqlite3.Error as error:
        raise store_error(path, error) from None


def _begun(connection: sqlite3.Connection, path: str) -> None:
    """Have a transaction: a savepoint of ours must not be the outermost one, for its end would commit."""
    if connection.in_transaction:
        return
    if connection.isolation_level is None or getattr(connection, "autocommit", -1) is True:
        raise StoreError(path, "no transaction is open on this connection: begin one, and commit it")
    connection.execute("begin immediate")


def _make(cursor: sqlite3.Cursor, path: str) -> None:
    """The tables; and of a file that is just begun, its rights."""
    seal_if_new(Path(path))
    make(cursor)


def _path_of(connection: sqlite3.Connection) -> str:
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
