"""The file of an outbox: opened by one program alone, its transactions, and what its failures mean."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from otpy.disk.files import FileError, FileLock, make_file, refuse_network
from otpy.disk.sqlite import KEPT_OPEN, check, meaning_of, settings
from otpy.resilience.errors import OutboxFileError
from otpy.resilience.outbox.tables import VERSION, Tables, make, version_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.disk.sqlite import Profile

__all__ = ["OutboxFile", "set_aside"]

TAKEN = "another program, or another outbox of this one, has it open"

_LEFT: list[sqlite3.Connection] = []
"""Connections that came into this process by a fork. To close them here would touch the parent's file."""


class OutboxFile:
    """Opened and used by one thread, and by one program: while it is open, nobody else can open it as an outbox.

    Raises:
        OutboxFileError: it cannot be opened, is damaged, in use, of a newer otpy, or on a network file system.
    """

    def __init__(self, path: str, *, profile: Profile = "full", patience: float = 5.0) -> None:
        """Open it; it is made when it is not there.

        Args:
            path: the file.
            profile: `full` has each commit on the disk before it returns; `fast` loses nothing when the program dies,
                but may lose the last commits when the power fails.
            patience: seconds to wait for who has it open.
        """
        self.path = path
        self._profile, self._patience = profile, patience
        self._pid = os.getpid()
        self._is_doubtful = False
        with self._failures():
            self._lock = self._locked()
            try:
                self._db = self._connect()
            except BaseException:
                self._lock.release()
                raise

    @contextmanager
    def transaction(self) -> Iterator[Tables]:
        """Begin one, and commit it in the end."""
        if self._pid != os.getpid():
            raise OutboxFileError(self.path, "it was opened before a fork: a child needs an outbox of its own")
        with self._failures():
            self._mend()
            self._db.execute("begin immediate")
            try:
                yield Tables(self._db)
                self._db.execute("commit")
            except BaseException:
                if self._db.in_transaction:
                    with suppress(sqlite3.Error):  # some failures end it by themselves
                        self._db.execute("rollback")
                raise

    @contextmanager
    def reading(self) -> Iterator[Tables]:
        """To look at it, outside of any transaction."""
        with self._failures():
            self._mend()
            yield Tables(self._db)

    def close(self) -> None:
        """Let go of it."""
        if self._pid != os.getpid():
            _LEFT.append(self._db)
            return
        self._db.close()
        self._lock.release()

    def _locked(self) -> FileLock:
        path = Path(os.path.realpath(self.path))
        refuse_network(path)
        make_file(path)
        try:
            lock = FileLock(path, self._patience)
        except FileError:
            raise FileError(self.path, TAKEN, is_busy=True) from None
        if not lock.is_alone:
            lock.release()
            raise FileError(self.path, TAKEN, is_busy=True)
        return lock

    def _connect(self) -> sqlite3.Connection:
        # Not bound to its thread: an actor's turns come one after the other, also where a seed deals them out.
        db = sqlite3.connect(self.path, timeout=self._patience, isolation_level=None, check_same_thread=False)
        try:
            db.executescript(settings(self._profile))
            if self._lock.was_unclean:
                check(db)
                self._lock.was_unclean = False
            self._migrate(db)
        except BaseException:
            db.close()
            raise
        return db

    def _migrate(self, db: sqlite3.Connection) -> None:
        found = version_of(db)
        if found > VERSION:
            problem = f"it has version {found}, and this otpy knows {VERSION}: run a newer one"
            raise OutboxFileError(self.path, problem)
        if not found:
            db.execute("begin immediate")
            try:
                make(db)
                db.execute("commit")
            except BaseException:
                db.execute("rollback")
                raise

    def _mend(self) -> None:
        """Have a sound connection, after one that may be none."""
        if self._is_doubtful:
            self._db.close()
            self._db = self._connect()
            self._is_doubtful = False

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except FileError as error:
            raise OutboxFileError(self.path, error.problem, "busy" if error.is_busy else "other") from None
        except (sqlite3.Error, OSError) as error:
            self._is_doubtful = not getattr(error, "sqlite_errorname", "").startswith(KEPT_OPEN)
            failure, problem = meaning_of(error)
            raise OutboxFileError(self.path, problem, failure) from None


def set_aside(path: str) -> str:
    """Move a file that is damaged out of the way, with those beside it; gives the new name of it.

    Raises:
        OSError: it cannot be moved.
    """
    number = 1
    while os.path.lexists(f"{path}.damaged-{number}"):
        number += 1
    aside = f"{path}.damaged-{number}"
    for end in ("-wal", "-shm", ""):  # the file itself last: what is begun is ended by the next start
        with suppress(FileNotFoundError):
            Path(f"{path}{end}").replace(f"{aside}{end}")
    return aside
