"""Looks beside who writes: each on a connection of its own that can write nothing, in whatever thread."""

from __future__ import annotations

import os
import sqlite3
from collections import deque
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from otpy.jobs.errors import ArgumentsError
from otpy.jobs.store.sqlite.backup import back_up
from otpy.jobs.store.sqlite.errors import store_error
from otpy.jobs.store.sqlite.tally import Known
from otpy.jobs.store.sqlite.transaction import MISTAKES, SqliteTransaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["SqliteReaders"]

KEPT = 4
"""Connections that are kept for the next looks; more are opened when more look at once."""


class SqliteReaders:
    """As `otpy.jobs.store.protocol.Readers` says.

    Nobody waits for it, and it waits for nobody: the log that SQLite writes to lets one write while any number read.
    Any thread may look; the connections go from hand to hand.
    """

    def __init__(self, path: str, now: Callable[[], int], patience: float) -> None:
        """Nothing is open.

        Args:
            path: the store's file.
            now: the time, in milliseconds.
            patience: seconds to wait for who has the file to itself, as for a moment after a crash.
        """
        self.is_open = False
        """Whether one may look: the file is there, with its tables, for somebody has opened it to write."""
        self._path, self._now, self._patience = path, now, patience
        self._idle: deque[sqlite3.Connection] = deque()
        self._pid = os.getpid()
        self._left: deque[sqlite3.Connection] = deque()
        """Those that came into this process by a fork: to close them here would touch the parent's file."""

    @contextmanager
    def look(self) -> Iterator[SqliteTransaction]:
        """A transaction in which nothing can be written.

        Raises:
            StoreError: the file cannot be read.
        """
        with self._begun() as db:
            yield SqliteTransaction(db, self._now(), Known(), None)

    def back_up(self, to: Path) -> int:
        """Copy the file as it is now; the size of the copy in bytes.

        Raises:
            BackupError: a file of that name is there, or it cannot be written.
            StoreError: the store cannot be read.
        """
        with self._begun() as db:
            return back_up(db, to)

    @contextmanager
    def _begun(self) -> Iterator[sqlite3.Connection]:
        try:
            db = self._take()
            try:
                db.execute("begin")
                db.execute("select 1 from otpy_schema").fetchone()  # only now it sees what there is, and no more
                yield db
                db.execute("rollback")
            except BaseException:
                db.close()  # in the middle of something, or of a file that is no longer what it was
                raise
        except MISTAKES as error:
            raise ArgumentsError(str(error)) from None
        except sqlite3.Error as error:
            raise store_error(self._path, error) from None
        self._give_back(db)

    def close(self) -> None:
        """Let go of the file; a look that is under way goes on."""
        self.is_open = False
        self._drop()

    def _take(self) -> sqlite3.Connection:
        if self._pid != os.getpid():
            self._left, self._idle, self._pid = self._idle, deque(), os.getpid()
        with suppress(IndexError):
            return self._idle.pop()
        name = f"{Path(self._path).absolute().as_uri()}?mode=ro"
        return sqlite3.connect(
            name, uri=True, timeout=self._patience, isolation_level=None, check_same_thread=False, cached_statements=32
        )

    def _give_back(self, db: sqlite3.Connection) -> None:
        if len(self._idle) >= KEPT:
            db.close()
            return
        self._idle.append(db)
        if not self.is_open:
            self._drop()

    def _drop(self) -> None:
        with suppress(IndexError):
            while True:
                self._idle.pop().close()
