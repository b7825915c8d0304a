"""`received`: takes a batch in the transaction of what it is for, each row once, however often it comes."""

from __future__ import annotations

import sqlite3
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.resilience.outbox.batch import Batch, Row

__all__ = ["received"]

KEEP = 30 * 86_400.0
"""Seconds after which the mark of an earlier incarnation is forgotten, unless something of it has come meanwhile."""

COLUMNS = """
    agent text not null, topic text not null, incarnation text not null, sequence bigint not null,
    seen_at bigint not null, primary key (agent, topic, incarnation)
"""

DOOR = 7_266_313_410_557_123_006
"""The number of the lock under which PostgreSQL's table is made: two that make one at once get in each other's way."""


class _Cursor(Protocol):
    def execute(self, query: Any, params: Any = ..., /) -> Any: ...
    def fetchone(self) -> Any: ...


@contextmanager
def received(connection: Any, batch: Batch, *, keep: float = KEEP) -> Iterator[tuple[Row, ...]]:
    """Take a batch: the block is given the rows of it that have not come before.

        with received(connection, batch) as fresh:
            connection.executemany("insert into …", [(row.key, row.payload) for row in fresh])

    What the block writes on this connection and the note that the rows have come are one transaction, committed at its
    end, or rolled back together when it raises. So a row has its effect once, however often its batch is sent, whatever
    dies in between. Acknowledge the batch after the block. The same batch twice at once: one waits for the other.

    The note is a row for each agent, topic and incarnation, in the table `otpy_received`, which is made when it is not
    there. It runs in the caller's thread, and blocks as the connection does.

    Args:
        connection: of `sqlite3` or of psycopg 3, with no transaction open.
        batch: as it has come.
        keep: seconds for which the note on an earlier incarnation of an agent is kept after the last row of it; longer
            than any batch can be on its way.

    Raises:
        RuntimeError: a transaction is open already, whose end would not be that of the block.
        TypeError: it is another kind of connection.
        sqlite3.Error, psycopg.Error: those of the connection: nothing of the batch is taken.
    """
    if isinstance(connection, sqlite3.Connection):
        taking = _on_sqlite(connection)
    elif type(connection).__module__.partition(".")[0] == "psycopg" and hasattr(connection, "pgconn"):
        taking = _on_postgres(connection)
    else:
        text = f"a connection of sqlite3 or psycopg, got {type(connection).__name__}"
        raise TypeError(text)
    with taking as (cursor, mark):
        now = int(time.time() * 1_000)
        who = (batch.agent, batch.topic, batch.incarnation)
        insert = f"insert into otpy_received values ({mark}, {mark}, {mark}, 0, {mark}) on conflict do nothing"  # noqa: S608
        mine = f"agent = {mark} and topic = {mark} and incarnation = {mark}"
        cursor.execute(insert, (*who, now))
        lock = " for update" if mark == "%s" else ""
        cursor.execute(f"select sequence from otpy_received where {mine}{lock}", who)  # noqa: S608 - our own words
        (sequence,) = cursor.fetchone()
        fresh = tuple(row for row in batch.rows if row.sequence > sequence)
        yield fresh
        update = f"update otpy_received set sequence = {mark}, seen_at = {mark} where {mine}"  # noqa: S608
        cursor.execute(update, (max(sequence, batch.last), now, *who))
        if not sequence:  # the first of an incarnation: those before it are most likely done
            old = (batch.agent, batch.topic, batch.incarnation, now - int(keep * 1_000))
            cursor.execute(
                f"delete from otpy_received where agent = {mark} and topic = {mark} and incarnation <> {mark}"  # noqa: S608
                f" and seen_at < {mark}",
                old,
            )


@contextmanager
def _on_sqlite(connection: sqlite3.Connection) -> Iterator[tuple[_Cursor, str]]:
    is_implicit = getattr(connection, "autocommit", -1) is False  # 3.12's way: one is always open
    if connection.in_transaction and not is_implicit:
        raise RuntimeError(OPEN)
    cursor = connection.cursor()
    cursor.row_factory = None
    try:
        if not is_implicit:
            cursor.execute("begin immediate")
        cursor.execute(f"create table if not exists otpy_received ({COLUMNS}) without rowid")
        yield cursor, "?"
        _end(connection, cursor, "commit", is_implicit=is_implicit)
    except BaseException:
        if connection.in_transaction:
            _end(connection, cursor, "rollback", is_implicit=is_implicit)
        raise
    finally:
        cursor.close()


def _end(
    connection: sqlite3.Connection, cursor: sqlite3.Cursor, how: Literal["commit", "rollback"], *, is_implicit: bool
) -> None:
    """In words, for with `autocommit=True` the methods do nothing; by the method where that begins the next one."""
    if is_implicit:
        getattr(connection, how)()
    else:
        cursor.execute(how)


@contextmanager
def _on_postgres(connection: Any) -> Iterator[tuple[_Cursor, str]]:  # Any: psycopg is an extra
    from psycopg.pq import TransactionStatus  # noqa: PLC0415 - an extra
    from psycopg.rows import tuple_row  # noqa: PLC0415 - an extra

    if connection.info.transaction_status != TransactionStatus.IDLE:
        raise RuntimeError(OPEN)
    with connection.transaction(), connection.cursor(row_factory=tuple_row) as cursor:
        cursor.execute("select to_regclass('otpy_received')")
        if cursor.fetchone() == (None,):
            cursor.execute("select pg_advisory_xact_lock(%s)", (DOOR,))
            cursor.execute(f"create table if not exists otpy_received ({COLUMNS})")
        yield cursor, "%s"


OPEN = "a transaction is open on this connection: commit it first, or use another connection"
