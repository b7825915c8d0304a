"""What a failure of SQLite, or of the file, means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.disk.files import FileError
from otpy.disk.sqlite import meaning_of
from otpy.jobs.errors import StoreBrokenError, StoreBusyError, StoreError, StoreFullError

if TYPE_CHECKING:
    import sqlite3

    from otpy.disk.sqlite import Failure

__all__ = ["store_error"]

ERRORS: dict[Failure, type[StoreError]] = {
    "busy": StoreBusyError,
    "full": StoreFullError,
    "broken": StoreBrokenError,
    "other": StoreError,
}


def store_error(path: str, error: sqlite3.Error | OSError | ValueError | FileError) -> StoreError:
    """What a failure means: a clear word, and what SQLite or the system says."""
    if isinstance(error, FileError):
        return ERRORS["busy" if error.is_busy else "other"](path, error.problem)
    failure, problem = meaning_of(error)
    return ERRORS[failure](path, problem)
