"""Statements of the user's own, run on the writer's connection: on other tables than ours, and for a bounded time."""

from __future__ import annotations

import re
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

import psycopg

from otpy.jobs.errors import TransactionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from otpy.jobs.store.postgres.session import Session

__all__ = ["Lent", "lent"]

ABOVE = re.compile(r"(?:\s+|--[^\n]*(?:\n|$)|/\*.*?\*/)*(\w*)", re.DOTALL)
"""The first word of a statement, behind its comments."""
FORBIDDEN = {
    *("abort", "begin", "commit", "end", "prepare", "release", "rollback", "savepoint", "start"),
    *("deallocate", "discard", "listen", "lock", "reset", "set", "unlisten"),
}
"""What would end the transaction, or change the connection for all who come after."""
OURS = re.compile(r"\botpy_\w", re.IGNORECASE)
"""The name of a table of ours; only a look may name it."""

FAULTS = (
    *("0A", "20", "21", "22", "23", "25001", "2B", "2D", "2F"),
    *("38", "39", "3F", "42", "44", "54", "55000", "P0"),
)
"""How the SQLSTATE begins of what is wrong with a statement or its values; the others are failures of the server."""

TOO_LONG = "it took too long, and all was rolled back: others waited for it"
REFUSED = (
    "it is one for the engine alone: it begins or ends a transaction, changes the connection for those who come after, "
    "as a set or a lock does, or writes to a table of jobs"
)
SEVERAL = (
    "it may be several, by its semicolon, of which one could end the transaction: give what is in quotes as a value "
    "(behind a pooler, where no statement is prepared)"
)


class Lent:
    """As `otpy.jobs.store.protocol.Foreign` says."""

    def __init__(self, session: Session, until: float) -> None:
        """In a transaction."""
        self._session = session
        self._until = until

    def run(self, text: str, values: Any) -> tuple[Any, Exception | None]:  # Any: whatever the user gives
        """One statement, in psycopg's words: its rows, or what is wrong with it."""

        def run(db: psycopg.Connection[Any]) -> list[Any]:
            # Prepared: else a text without values could have several statements in it.
            rows = db.execute(text, values, prepare=True)
            return rows.fetchall() if rows.description else []

        if self._session.is_pooled and not values and ";" in text.rstrip("; \n"):
            return None, TransactionError("a statement", SEVERAL)
        return self._run(text, run)

    def run_many(self, text: str, rows: Sequence[Any]) -> tuple[Any, Exception | None]:  # Any: as above
        """The same with each of these: how many rows it changed, or what is wrong."""

        def run(db: psycopg.Connection[Any]) -> int:
            cursor = db.cursor()
            cursor.executemany(text, rows)
            return cursor.rowcount

        return self._run(text, run)

    def _run(self, text: str, statement: Callable[[psycopg.Connection[Any]], Any]) -> tuple[Any, Exception | None]:
        if _is_refused(text):
            return None, TransactionError("a statement", REFUSED)
        left_ms = round((self._until - monotonic()) * 1_000)
        if left_ms <= 0:
            raise TransactionError("a statement", TOO_LONG)
        db = self._session.db
        db.execute(f"savepoint lent; set local statement_timeout = {left_ms}", prepare=False)
        try:
            return statement(db), None
        except psycopg.errors.QueryCanceled:
            raise TransactionError("a statement", TOO_LONG) from None
        except psycopg.Error as error:
            if error.sqlstate is not None and not error.sqlstate.startswith(FAULTS):
                raise
            if not self._session.is_sound:
                raise
            db.execute("rollback to lent", prepare=False)
            return None, error
        except Exception as error:  # noqa: BLE001 - a value that cannot be sent: the user's
            return None, error


def _is_refused(text: str) -> bool:
    found = ABOVE.match(text)
    word = "" if found is None else found[1].lower()
    return word in FORBIDDEN or (word != "select" and OURS.search(text) is not None)


@contextmanager
def lent(session: Session, until: float) -> Iterator[Lent]:
    """Until this time of the monotonic clock, after which a statement is interrupted; who thinks meanwhile may."""
    left_ms = round((until - monotonic()) * 1_000)
    if left_ms >= session.idle_ms:  # a little more: who is late is told by us
        session.db.execute(f"set local idle_in_transaction_session_timeout = {2 * left_ms}", prepare=False)
    yield Lent(session, until)
    session.db.execute(session.limits, prepare=False)
