"""Statements of the user's own, run on the writer's connection: on other tables than ours, and for a bounded time."""

from __future__ import annotations

import re
import sqlite3
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

from otpy.jobs.errors import TransactionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Lent", "lent"]

OURS = "otpy_"
"""How the names of our tables and indexes begin."""

NAMED = re.compile(rf"\b{OURS}", re.IGNORECASE)
"""One of them in a statement: to what a table is renamed SQLite does not say when it asks."""

SEQUENCE = "sqlite_sequence"
"""Keeps the highest number of each table, and of jobs, which is never used again. SQLite writes to it by itself."""

LOOKS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
"""What changes nothing, whatever it names."""

FORBIDDEN = {
    *(sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT),
    *(sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_PRAGMA),
}
"""What would end the transaction, or change the connection for all who come after."""

HARMLESS = "data_version"
"""A pragma that changes nothing, and that full-text tables ask for by themselves."""

FAULTS = ("SQLITE_ERROR", "SQLITE_CONSTRAINT", "SQLITE_MISMATCH", "SQLITE_RANGE", "SQLITE_TOOBIG")
"""What is wrong with a statement or its values; the others are failures of the file, and of all who use it."""

TOO_LONG = "it took too long, and all was rolled back: others waited for it"
UNDONE = "it had SQLite roll back the transaction, as `on conflict rollback` does: what follows would be kept by itself"
REFUSED = (
    "it is one for the engine alone: it begins or ends a transaction, changes the connection for those who come after, "
    "as a pragma or an attached file does, or writes to a table of jobs"
)

STEPS = 10_000
"""Instructions of SQLite between two looks at the time."""


class Lent:
    """As `otpy.jobs.store.protocol.Foreign` says."""

    def __init__(self, db: sqlite3.Connection) -> None:
        """In a transaction."""
        self._db = db
        self._is_theirs = False
        self._denied = False
        self._text = ""

    def run(self, text: str, values: Any) -> tuple[Any, Exception | None]:  # Any: whatever the user gives
        """One statement: its rows, or what is wrong with it."""
        return self._run(text, lambda: self._db.execute(text, values).fetchall())

    def run_many(self, text: str, rows: Sequence[Any]) -> tuple[Any, Exception | None]:  # Any: as above
        """The same with each of these: how many rows it changed, or what is wrong."""
        return self._run(text, lambda: self._db.executemany(text, rows).rowcount)

    def _run(self, text: str, statement: Any) -> tuple[Any, Exception | None]:  # Any: a function of nothing
        self._is_theirs, self._denied, self._text = True, False, str(text)
        try:
            return statement(), None
        except sqlite3.Error as error:
            if self._denied:
                return None, TransactionError("a statement", REFUSED)
            name = getattr(error, "sqlite_errorname", "")
            if name and not name.startswith(FAULTS):
                raise
            if not self._db.in_transaction:
                raise TransactionError("a statement", UNDONE) from error
            return None, error
        except Exception as error:  # noqa: BLE001 - a value that cannot be bound: the user's
            return None, error
        finally:
            self._is_theirs = False

    def may(self, action: int, first: str | None, second: str | None, _: str | None, by: str | None) -> int:
        """Asked by SQLite when it prepares a statement; `by` is the trigger that would do it."""
        if not self._is_theirs or action in LOOKS or (action == sqlite3.SQLITE_PRAGMA and first == HARMLESS):
            return sqlite3.SQLITE_OK
        if action in FORBIDDEN or self._is_of_ours(action, first, second, by):
            self._denied = True
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK

    def _is_of_ours(self, action: int, first: str | None, second: str | None, by: str | None) -> bool:
        if any(name is not None and name.lower().startswith(OURS) for name in (first, second)):
            return True
        if action == sqlite3.SQLITE_ALTER_TABLE:
            return NAMED.search(self._text) is not None
        return first == SEQUENCE and (by is not None or SEQUENCE in self._text.lower())


@contextmanager
def lent(db: sqlite3.Connection, until: float) -> Iterator[Lent]:
    """Until this time of the monotonic clock; after it a statement is interrupted, theirs or ours on their behalf."""
    one = Lent(db)
    db.set_authorizer(one.may)
    db.set_progress_handler(lambda: monotonic() > until, STEPS)
    try:
        yield one
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorname", "") == "SQLITE_INTERRUPT":  # by us, so no failure of the file
            raise TransactionError("a statement", TOO_LONG) from None
        raise
    finally:
        db.set_progress_handler(None, 0)
        db.set_authorizer(None)
