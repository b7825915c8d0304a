"""Opening the file: its rights, who else has it open, whether it is whole, and which version its tables have."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from importlib.resources import files
from typing import TYPE_CHECKING

from otpy.jobs.errors import StoreVersionError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FileLock", "check", "make_file", "migrate"]

CHECK = 2.0
"""Seconds that the check after an unclean stop may take: a large file is used without it."""
STEPS = 10_000
"""Instructions of SQLite between two looks at the time."""


def make_file(path: Path) -> Path:
    """Have a file that only its owner can read; SQLite gives those beside it the same rights."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    return path


class FileLock:
    """Says that a program has the store open: who comes and is alone knows that nobody is in the middle of anything."""

    def __init__(self, path: Path) -> None:
        """Take it alone if nobody else has it, until `share`."""
        self._fd = os.open(f"{path}-open", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.was_unclean = False
        """Whether nobody has it open, and its last user has left without closing it."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(self._fd, fcntl.LOCK_SH)
            return
        log = f"{path}-wal"
        self.was_unclean = os.path.exists(log) and os.path.getsize(log) > 0  # noqa: PTH110, PTH202 - a name, no Path

    def share(self) -> None:
        """Let others have it open, too."""
        fcntl.flock(self._fd, fcntl.LOCK_SH)

    def release(self) -> None:
        """It is closed."""
        os.close(self._fd)


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
        broken = sqlite3.DatabaseError(said)
        broken.sqlite_errorname = "SQLITE_CORRUPT"
        raise broken


def migrate(db: sqlite3.Connection, path: str) -> None:
    """Bring its tables to the version that this otpy knows. Raises StoreVersionError."""
    scripts = sorted(files(__package__).joinpath("schema").iterdir(), key=lambda one: one.name)
    found = int(db.execute("pragma user_version").fetchone()[0])
    if found > len(scripts):
        raise StoreVersionError(path, found, len(scripts))
    if found == len(scripts):
        return
    db.execute("begin immediate")  # another program may do the same
    try:
        found = int(db.execute("pragma user_version").fetchone()[0])
        for number, script in enumerate(scripts[found:], found + 1):
            for statement in _statements(script.read_text()):
                db.execute(statement)
            db.execute(f"pragma user_version = {number}")
        db.execute("commit")
    except BaseException:
        db.execute("rollback")
        raise


def _statements(script: str) -> list[str]:
    """Its statements, one by one: `executescript` would commit what is open."""
    found, part = [], ""
    for line in script.splitlines(keepends=True):
        part += line
        if sqlite3.complete_statement(part):
            found.append(part)
            part = ""
    return found
