"""What the server's words mean, and what it cannot take."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg

from otpy.jobs.errors import (
    ArgumentsError,
    StoreBrokenError,
    StoreBusyError,
    StoreConflictError,
    StoreError,
    StoreFullError,
    StoreLockedError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MISTAKES", "failures", "said_by", "store_error"]

MISTAKES = (psycopg.DataError, psycopg.IntegrityError, psycopg.ProgrammingError, UnicodeEncodeError, OverflowError)
"""What is said of a value that PostgreSQL cannot take: the fault of who gave it, while the store is well."""

TRIED = "it was in another program's way, several times"
ERRORS: dict[str, tuple[type[StoreError], str]] = {
    "40001": (StoreConflictError, TRIED),
    "40P01": (StoreConflictError, TRIED),
    "23505": (StoreConflictError, TRIED),  # no statement of ours runs into a unique index unless another just has
    "55P03": (StoreLockedError, "another program has been holding what it needs for too long"),
    "57014": (StoreBusyError, "a statement took too long"),
    "25P03": (StoreBusyError, "a transaction took too long"),
    "53100": (StoreFullError, "the server's disk is full"),
    "53300": (StoreError, "the server has too many connections"),
    "58": (StoreError, "the server's disk does not work"),
    "XX001": (StoreBrokenError, "a table is damaged: restore a copy of the database"),
    "XX002": (StoreBrokenError, "an index is damaged: make it anew"),
    "25006": (StoreError, "it may not be written: the server is a standby, or read-only"),
    "42501": (StoreError, "the user lacks a right"),
    "3F000": (StoreError, "no schema of the search path is there, or the user may use none"),
    "42P01": (StoreError, "a table is missing"),
    "28": (StoreError, "the server lets this user not in"),
    "57P": (StoreError, "the server cannot be reached"),
    "08": (StoreError, "the server cannot be reached"),
}
"""By the beginning of its SQLSTATE."""


BEFORE = {
    "FATAL:": "the server refuses the connection",
    "no password supplied": "the server refuses the connection",
    r"invalid \w+ (value|number)": "its address is wrong",
}
"""By what libpq says, which gives no code to what it is told before it is connected."""

STATEMENT = re.compile(r"\nLINE \d+:.*\n\s*\^")
"""Where in our own statement the server has found it: nobody who reads that could do anything about it."""


def store_error(path: str, error: psycopg.Error) -> StoreError:
    """What a failure means: a clear word, and what the server or the system says."""
    said = said_by(error)
    for start, (kind, meaning) in ERRORS.items():
        if (error.sqlstate or "").startswith(start):
            return kind(path, f"{meaning} ({said}, {error.sqlstate})")
    if error.sqlstate is None and isinstance(error, psycopg.OperationalError):
        meanings = (meaning for pattern, meaning in BEFORE.items() if re.search(pattern, said))
        return StoreError(path, f"{next(meanings, 'the server cannot be reached')} ({said})")
    return StoreError(path, f"{said} ({error.sqlstate})" if error.sqlstate else said)


def said_by(error: psycopg.Error) -> str:
    """What the server or the system says, in one line."""
    return " ".join(STATEMENT.sub("", str(error)).split())


@contextmanager
def failures(path: str) -> Iterator[None]:
    """Say what went wrong in words of ours: a value, or the store."""
    try:
        yield
    except (psycopg.Error, UnicodeEncodeError, OverflowError) as error:
        if _is_mistake(error) or not isinstance(error, psycopg.Error):
            raise ArgumentsError(str(error)) from None
        raise store_error(path, error) from None


def _is_mistake(error: Exception) -> bool:
    """Whether a value is at fault."""
    state = getattr(error, "sqlstate", None)
    if state is None:
        return isinstance(error, MISTAKES)
    return state[:2] in ("22", "23", "54") and state != "23505"
