"""Looks at the file beside who writes to it."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from otpy.jobs.errors import ArgumentsError
from otpy.jobs.store.readers import KeptReaders
from otpy.jobs.store.sql.tally import Known
from otpy.jobs.store.sqlite.backup import back_up
from otpy.jobs.store.sqlite.errors import store_error
from otpy.jobs.store.sqlite.transaction import MISTAKES, SqliteTransaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["SqliteReaders"]


class SqliteReaders(KeptReaders[sqlite3.Connection]):
    """All of a look is of one moment: the log that SQLite writes to lets one write while any number read."""

    def __init__(self, path: str, now: Callable[[], int], patience: float) -> None:
        """Nothing is open.

        Args:
            path: the store's file.
            now: the time, in milliseconds.
            patience: seconds to wait for who has the file to itself, as for a moment after a crash.
        """
        super().__init__()
        self._path, self._now, self._patience = path, now, patience

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

    def server(self) -> None:
        """There is none."""

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

    def _connect(self) -> sqlite3.Connection:
        name = f"{Path(self._path).absolute().as_uri()}?mode=ro"
        return sqlite3.connect(
            name, uri=True, timeout=self._patience, isolation_level=None, check_same_thread=False, cached_statements=32
        )
