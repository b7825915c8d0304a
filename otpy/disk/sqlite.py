"""SQLite as otpy uses it: its settings, what its failures mean, and whether a file is whole."""

from __future__ import annotations

import sqlite3
import time
from typing import Literal

__all__ = ["KEPT_OPEN", "SYNCHRONOUS", "Failure", "Profile", "broken", "check", "meaning_of", "settings"]

Profile = Literal["full", "fast"]
Failure = Literal["busy", "full", "broken", "other"]

SYNCHRONOUS: dict[Profile, str] = {"full": "full", "fast": "normal"}
"""What SQLite calls them."""

SETTINGS = """
pragma auto_vacuum = incremental;
pragma journal_mode = wal;
pragma synchronous = {synchronous};
pragma foreign_keys = on;
pragma wal_autocheckpoint = 1000;
pragma journal_size_limit = 67108864;
pragma temp_store = memory;
pragma cache_size = -8000;
"""

KEPT_OPEN = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_FULL", "SQLITE_CONSTRAINT")
"""Failures after which the connection is sound. After others, of the disk above all, it is made anew: what SQLite
remembers of a file whose last sync has failed is not what the file says."""

CHECK = 2.0
"""Seconds that the check after an unclean stop may take: a large file is used without it."""
STEPS = 10_000
"""Instructions of SQLite between two looks at the time."""

MEANINGS: dict[str, tuple[Failure, str]] = {
    "SQLITE_BUSY": ("busy", "another program has been writing to it for too long"),
    "SQLITE_LOCKED": ("busy", "another program has been writing to it for too long"),
    "SQLITE_FULL": ("full", "the disk is full"),
    "SQLITE_CORRUPT": ("broken", "the file is damaged: restore a copy of it"),
    "SQLITE_NOTADB": ("broken", "the file is something else"),
    "SQLITE_IOERR": ("other", "the disk does not work"),
    "SQLITE_READONLY": ("other", "it may not be written"),
    "SQLITE_CANTOPEN": ("other", "it cannot be opened"),
}


def settings(profile: Profile) -> str:
    """The script that a new connection runs first; before there are any tables, for one of them counts then alone."""
    return SETTINGS.format(synchronous=SYNCHRONOUS[profile])


def meaning_of(error: Exception) -> tuple[Failure, str]:
    """What a failure of SQLite, or of the file, means: its sort, and a clear word with what was said."""
    name = getattr(error, "sqlite_errorname", "")
    for start, (failure, meaning) in MEANINGS.items():
        if name.startswith(start):
            return failure, f"{meaning} ({error}, {name})"
    return "other", f"{error} ({name})" if name else str(error)


def broken(problem: str) -> sqlite3.DatabaseError:
    """As SQLite says it of a file that it finds damaged."""
    error = sqlite3.DatabaseError(problem)
    error.sqlite_errorname = "SQLITE_CORRUPT"
    return error


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
        raise broken(said)
