"""The file: its connection, its settings, and what its failures mean."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from otpy.core.clock import wall_clock
from otpy.core.points import point
from otpy.disk.files import FileError, FileLock, make_file, refuse_network
from otpy.disk.sqlite import KEPT_OPEN, check, settings
from otpy.jobs.errors import ArgumentsError, StoreError
from otpy.jobs.store.sql.tally import Known
from otpy.jobs.store.sqlite import leading
from otpy.jobs.store.sqlite.errors import store_error
from otpy.jobs.store.sqlite.transaction import MISTAKES, SqliteTransaction
from otpy.jobs.store.sqlite.versions import migrate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otpy.disk.sqlite import Profile
    from otpy.jobs.model.lead import Lead

__all__ = ["MEMORY", "SqliteStore"]

MEMORY = ":memory:"

FAILURES = (sqlite3.Error, *MISTAKES)

_LEFT: list[sqlite3.Connection] = []
"""Connections that came into this process by a fork. To close them here would touch the parent's file."""


class SqliteStore:
    """As `otpy.jobs.store.protocol.Store` says. Opened and used by one thread."""

    def __init__(
        self,
        path: Path | str,
        *,
        profile: Profile = "full",
        patience: float = 5.0,
        now: Callable[[], int] = wall_clock,
        redact: Callable[[str], str] | None = None,
    ) -> None:
        """Open the file, which is made when it is not there.

        Args:
            path: the file, or `:memory:` for one that lives as long as this object.
            profile: `full` has each commit on the disk before it returns; `fast` loses nothing when the program dies,
                but may lose the last commits when the power fails.
            patience: seconds to wait for another program that writes.
            now: the time, in milliseconds.
            redact: takes secrets out of a text before it is written.

        Raises:
            StoreError: it cannot be opened, is damaged, or is on a network file system.
            StoreVersionError: a newer otpy has written it.
        """
        self.path = str(path)
        self._profile, self._patience, self._now, self._redact = profile, patience, now, redact
        self._known = Known()
        self._pid = os.getpid()
        self._is_doubtful = self._is_mending = False
        with self._failures():
            self._lock = None if self.path == MEMORY else self._locked()
            try:
                self._db = self._connect()
            except BaseException:
                self._unlock()
                raise

    @contextmanager
    def transaction(self) -> Iterator[SqliteTransaction]:
        """Begin one that may write."""
        if self._pid != os.getpid():
            raise StoreError(self.path, "it was opened before a fork: a child must open it by itself")
        try:
            self._mend()
            self._db.execute("begin immediate")
            try:
                transaction = SqliteTransaction(self._db, self._now(), self._known, self._redact)
                yield transaction
                transaction.finish()
                point("jobs.commit.before", "sqlite")
                self._db.execute("commit")
                point("jobs.commit.after", "sqlite")
                transaction.committed()
            except BaseException:
                if self._db.in_transaction:
                    with suppress(sqlite3.Error):  # some failures end it by themselves
                        self._db.execute("rollback")
                raise
        except FAILURES as error:  # `_failures`, written out: each step in here is one of every commit
            raise self._meant_by(error) from None

    def lead(self, name: str) -> Lead | None:
        """Who was elected last."""
        with self._failures():
            return leading.lead(self._db, name)

    def changes(self) -> int:
        """Differs when another program has written."""
        with self._failures():
            self._mend()
            return int(self._db.execute("pragma data_version").fetchone()[0])

    def close(self) -> None:
        """Let go of the file."""
        if self._pid != os.getpid():
            _LEFT.append(self._db)
            return
        self._db.close()
        self._unlock()

    def _locked(self) -> FileLock:
        path = Path(os.path.realpath(self.path))
        try:
            refuse_network(path)
            make_file(path)
            return FileLock(path, self._patience)
        except (OSError, FileError) as error:
            raise store_error(self.path, error) from None

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=self._patience, isolation_level=None, cached_statements=256)
        try:
            self._prepare(db, self._lock)
        except BaseException:
            db.close()
            raise
        return db

    def _prepare(self, db: sqlite3.Connection, lock: FileLock | None) -> None:
        db.executescript(settings(self._profile))
        if lock is not None and lock.was_unclean:
            check(db)
            lock.was_unclean = False
        migrate(db, self.path, is_alone=lock is None or lock.is_alone)
        if lock is not None and lock.is_alone:
            lock.share()
            lock.is_alone = False

    def _mend(self) -> None:
        """Have a sound connection, after one that may be none."""
        if self._is_doubtful and self.path != MEMORY:
            self._is_mending = True
            self._db.close()
            self._db = self._connect()
        self._is_doubtful = self._is_mending = False

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except FAILURES as error:
            raise self._meant_by(error) from None

    def _meant_by(self, error: Exception) -> ArgumentsError | StoreError:
        if not isinstance(error, sqlite3.Error) or (isinstance(error, MISTAKES) and not self._is_mending):
            return ArgumentsError(str(error))
        self._is_doubtful = self._is_mending or not getattr(error, "sqlite_errorname", "").startswith(KEPT_OPEN)
        return store_error(self.path, error)
