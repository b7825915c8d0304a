"""One connection to the server, as statements of `store.sql` want it."""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import TransactionStatus

from otpy.jobs.errors import StoreError
from otpy.jobs.store.postgres.link import Link, is_pooled
from otpy.jobs.store.postgres.words import spoken
from otpy.jobs.store.where import shown, without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["CLOCK", "Rows", "Session", "Statements", "Whole"]

CLOCK = "cast(extract(epoch from clock_timestamp()) * 1000 as bigint)"
"""The server's time, in milliseconds."""
MOST = 2**63
PATIENCE = 1.2
"""The part of the patience after which a server that says nothing is given up: it ends a statement by itself before."""
LOCK = 0.8
"""The part of the patience for which another program's lock is waited for: who waits too long is told what for."""
IDLE = 0.6
"""The part of it after which a program that has begun a transaction and says nothing more has it rolled back: sooner
than those give up who wait for its locks. Else one that is frozen in a claim would fail all others once."""

HOST = re.compile("'[^']*@")
"""The name of a machine that is none, for it begins with what stands behind the first @ of a password."""


class Whole(Dumper):
    """Whole numbers: always of the same type, which is that of the columns, so that a statement has one plan."""

    oid = psycopg.adapters.types["int8"].oid

    def dump(self, obj: int) -> bytes:
        """Before it is sent: what the server refuses spoils the transaction. Raises OverflowError."""
        if not -MOST <= obj < MOST:
            raise OverflowError(f"{obj} does not fit into 64 bits")
        return b"%d" % obj


class Rows(psycopg.Cursor[Any]):
    """What a statement has given."""

    @cached_property
    def lastrowid(self) -> int | None:
        """The number of the row that `… returning id` has inserted."""
        row = self.fetchone()
        return None if row is None else int(row[0])


class Statements:
    """A connection, as statements of `store.sql` are given to it."""

    def __init__(self, db: psycopg.Connection[Any]) -> None:
        """This one."""
        self.db = db

    def execute(self, sql: str, parameters: Any = (), /) -> Rows:  # Any: as `Base` says
        """Do one statement."""
        rows = self._cursor()
        rows.execute(spoken(sql), parameters, binary=True)
        return rows

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> None:
        """Do it with each of these, sent together."""
        self._cursor().executemany(spoken(sql), parameters)

    def _cursor(self) -> Rows:
        return Rows(self.db)


class Session(Statements):
    """A connection of our own; for one thread."""

    def __init__(self, url: str, patience: float, *, is_fast: bool, is_reader: bool = False) -> None:
        """Connect; one that `is_reader` can write nothing. Raises psycopg.OperationalError, or StoreError."""
        self.path = shown(url)
        """How it is called in errors."""
        # Each statement is to see what was committed before it, whatever the database is set to: who counts what runs
        # waits first for who counts just now.
        self._begin = f"begin isolation level read committed{' read only' if is_reader else ''}"
        self._moment_ms = _ms(patience * LOCK / 10)
        self.idle_ms = _ms(patience * IDLE)
        """How long nothing may be said in a transaction."""
        self.limits = _limits(patience)
        """What holds in each transaction."""
        db = _connected(url, patience)
        _check_encoding(db, self.path)
        super().__init__(db)
        self._link = db
        self.pid = db.info.backend_pid
        """The number of the server's process, by which others know who calls."""
        self.is_pooled = is_pooled(db)
        """Whether a pooler stands between: then nothing may outlast a transaction, as a prepared statement does."""
        if self.is_pooled:
            db.prepare_threshold = None
        if not is_reader and (is_fast or _is_lax(db)):
            self.limits += f"; set local synchronous_commit = {'off' if is_fast else 'on'}"

    @property
    def is_sound(self) -> bool:
        """Whether it can be used, as far as is known."""
        return not self.db.closed

    @property
    def is_idle(self) -> bool:
        """Whether, besides, nothing of an earlier transaction is left in it."""
        return self.is_sound and self.db.pgconn.transaction_status == TransactionStatus.IDLE

    @contextmanager
    def unhurried(self) -> Iterator[None]:
        """Wait for each answer as long as it takes."""
        patience, self._link.patience = self._link.patience, None
        try:
            yield
        finally:
            self._link.patience = patience

    def begin(self, now: Callable[[], int] | None = None) -> int:
        """Begin a transaction; the server's time, unless another one is meant. One round trip."""
        if now is not None:
            self.db.execute(f"{self._begin}; {self.limits}", prepare=False)
            return now()
        rows = self.db.execute(f"{self._begin}; {self.limits}; select {CLOCK}", prepare=False)
        while rows.nextset():
            pass
        row = rows.fetchone()
        assert row is not None  # noqa: S101 - a select without tables gives one
        return int(row[0])

    def hurry(self) -> None:
        """Wait for no lock in this transaction but for a moment, a tenth of what is waited otherwise."""
        self.db.execute(f"set local lock_timeout = {self._moment_ms}", prepare=False)

    def commit(self, *before: str) -> None:
        """Commit, and do this in the transaction before; one round trip."""
        self.db.execute("; ".join([*before, "commit"]), prepare=False)

    def rollback(self) -> None:
        """Undo; of a connection that is gone the server does it."""
        with suppress(psycopg.Error):
            self.db.execute("rollback", prepare=False)

    def close(self) -> None:
        """Let go of it."""
        with suppress(psycopg.Error):
            self.db.close()


def _check_encoding(db: Link, path: str) -> None:
    """One text that the server cannot keep spoils all that is written with it, again and again. Raises StoreError."""
    encoding = db.info.parameter_status("server_encoding")
    if encoding not in ("UTF8", None):  # a pooler may not tell
        db.close()
        raise StoreError(
            path, f"its encoding is {encoding}, and not every text can be kept in that: make one with UTF8"
        )


def _is_lax(db: Link) -> bool:
    """Whether the database, or the user, is set to acknowledge what is not on the server's disk.

    Settings that wait for more than that, or for no standby, are left as they are.
    """
    ((setting,),) = db.execute("select current_setting('synchronous_commit')", prepare=False).fetchall()
    return bool(setting == "off")


def _connected(url: str, patience: float) -> Link:
    """Have a connection; of a machine that is gone the system tells within the patience."""
    db = _reached(
        url,
        client_encoding="UTF8",
        connect_timeout=max(2, round(patience)),
        tcp_user_timeout=_ms(patience),
        keepalives_idle=max(1, round(patience)),
        keepalives_interval=max(1, round(patience / 3)),
        keepalives_count=3,
    )
    db.patience = patience * PATIENCE
    db.adapters.register_dumper(int, Whole)
    return db


def _limits(patience: float) -> str:
    """For a transaction alone: behind a pooler the next one may have another connection.

    Whoever holds locks and is cut off is so no longer than this; else a leader that is gone would keep others from
    being elected.
    """
    times = {
        "lock_timeout": _ms(patience * LOCK),
        "statement_timeout": _ms(patience),
        "idle_in_transaction_session_timeout": _ms(patience * IDLE),
    }
    return "; ".join(f"set local {name} = {time}" for name, time in times.items())


def _ms(seconds: float) -> int:
    """At least one: to the server 0 is without end."""
    return max(1, round(seconds * 1_000))


def _reached(url: str, **options: Any) -> Link:  # what libpq takes
    try:
        return Link.connect(url, autocommit=True, fallback_application_name="otpy", **options)
    except psycopg.ProgrammingError as error:  # libpq does not understand it, and repeats it
        said = without_secrets(" ".join(str(error).split()), url)
        raise StoreError(shown(url), f"its address is wrong: {said}") from None
    except psycopg.OperationalError as error:
        said = HOST.sub("'***@", str(error))
        if said == str(error):
            raise
        raise type(error)(said) from None
