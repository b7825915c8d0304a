"""What a failure of SQLite, or of the file, means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.jobs.errors import StoreBrokenError, StoreBusyError, StoreError, StoreFullError

if TYPE_CHECKING:
    import sqlite3

__all__ = ["store_error"]

ERRORS: dict[str, tuple[type[StoreError], str]] = {
    "SQLITE_BUSY": (StoreBusyError, "another program has been writing to it for too long"),
    "SQLITE_LOCKED": (StoreBusyError, "another program has been writing to it for too long"),
    "SQLITE_FULL": (StoreFullError, "the disk is full"),
    "SQLITE_CORRUPT": (StoreBrokenError, "the file is damaged: restore a copy of it"),
    "SQLITE_NOTADB": (StoreBrokenError, "the file is something else"),
    "SQLITE_IOERR": (StoreError, "the disk does not work"),
    "SQLITE_READONLY": (StoreError, "it may not be written"),
    "SQLITE_CANTOPEN": (StoreError, "it cannot be opened"),
}


def store_error(path: str, error: sqlite3.Error | OSError | ValueError) -> StoreError:
    """What a failure means: a clear word, and what SQLite or the system says."""
    name = getattr(error, "sqlite_errorname", "")
    for start, (kind, meaning) in ERRORS.items():
        if name.startswith(start):
            return kind(path, f"{meaning} ({error}, {name})")
    return StoreError(path, f"{error} ({name})" if name else str(error))
