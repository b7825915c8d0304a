"""An SQLite file that one program alone has open: its lock, its transactions, what its failures mean, its damage."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from otpy.core.points import point
from otpy.core.value import value
from otpy.disk.files import FileError, FileLock, make_file, refuse_network
from otpy.disk.sqlite import KEPT_OPEN, SYNCHRONOUS, check, meaning_of, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otpy.disk.sqlite import Failure, Profile
    from otpy.errors import OtpyError

__all__ = ["Layout", "OwnedFile", "set_aside"]

MOVED = "somebody has removed it, or put another one in its place, while the program has it open"

_LEFT: list[sqlite3.Connection] = []
"""Connections that came into this process by a fork. To close them here would touch the parent's file."""


class _FileFailure(Protocol):
    """The error of those who use such a file."""

    def __call__(self, path: str, problem: str, failure: Failure = "other") -> OtpyError: ...


@value(kw_only=True)
class Layout:
    """What is in such a file."""

    version: int
    """That of its tables."""
    version_of: Callable[[sqlite3.Connection], int]
    """The version that is found; 0 when there are no tables."""
    make: Callable[[sqlite3.Connection], None]
    """Makes them, in a transaction."""
    error: _FileFailure
    """What is raised of all that fails."""
    taken: str
    """What is said when somebody has it open."""
    forked: str
    """What is said to a fork that would use it."""
    point: str
    """What the points at its commits begin with: `otpy.core.points`."""


class OwnedFile:
    """Used by one thread at a time, and by one program: while it is open, nobody else can open it so."""

    def __init__(self, path: str, layout: Layout, *, profile: Profile = "full", patience: float = 5.0) -> None:
        """Open it; it is made when it is not there.

        Args:
            path: the file.
            layout: what is in it.
            profile: `full` has each commit on the disk before it returns; `fast` loses nothing when the program dies,
                but may lose the last commits when the power fails.
            patience: seconds to wait for who has it open.
        """
        self.path = path
        self._layout, self._profile, self._patience = layout, profile, patience
        self._before, self._after = (f"{layout.point}.commit.{when}" for when in ("before", "after"))
        self._pid = os.getpid()
        self._is_doubtful = False
        with self.failures():
            self._lock = self._locked()
            try:
                self._db = self._connect()
            except BaseException:
                self._lock.release()
                raise
            self._place = Path(os.path.realpath(path))
            self._seen = self._place.stat()

    @contextmanager
    def changing(self, *, is_brief: bool = False) -> Iterator[sqlite3.Connection]:
        """Begin a transaction, and commit it in the end.

        The commit of one that `is_brief` does not wait for the disk: it outlives the program, not a power failure.
        """
        if self._pid != os.getpid():
            raise self._layout.error(self.path, self._layout.forked)
        self._refuse_if_moved()
        with self.failures():
            self._mend()
            if is_brief:
                self._db.execute("pragma synchronous = normal")
            try:
                yield from self._transaction()
            finally:
                if is_brief:
                    self._db.execute(f"pragma synchronous = {SYNCHRONOUS[self._profile]}")

    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._db.execute("begin immediate")
        try:
            yield self._db
            point(self._before, "sqlite")
            self._db.execute("commit")
            point(self._after, "sqlite")
        except BaseException:
            if self._db.in_transaction:
                with suppress(sqlite3.Error):  # some failures end it by themselves
                    self._db.execute("rollback")
            raise

    @contextmanager
    def looking(self) -> Iterator[sqlite3.Connection]:
        """To look at it, outside of any transaction."""
        if self._is_doubtful:  # a new connection would make another file
            self._refuse_if_moved()
        with self.failures():
            self._mend()
            yield self._db

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
            raise FileError(self.path, self._layout.taken, is_busy=True) from None
        if not lock.is_alone:
            lock.release()
            raise FileError(self.path, self._layout.taken, is_busy=True)
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
        layout = self._layout
        found = layout.version_of(db)
        if found > layout.version:
            problem = f"it has version {found}, and this otpy knows {layout.version}: run a newer one"
            raise layout.error(self.path, problem)
        if not found:
            db.execute("begin immediate")
            try:
                layout.make(db)
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

    def _refuse_if_moved(self) -> None:
        """What is written to a file that somebody has removed, or put another one in its place, is lost."""
        try:
            there = os.path.samestat(self._place.stat(), self._seen)
        except FileNotFoundError:
            there = False
        except OSError:
            return  # one that cannot be looked at may still be written to
        if not there:
            raise self._layout.error(self.path, MOVED)

    @contextmanager
    def failures(self) -> Iterator[None]:
        """What fails in here is raised as the error of the file."""
        try:
            yield
        except FileError as error:
            raise self._layout.error(self.path, error.problem, "busy" if error.is_busy else "other") from None
        except (sqlite3.Error, OSError) as error:
            self._is_doubtful = not getattr(error, "sqlite_errorname", "").startswith(KEPT_OPEN)
            failure, problem = meaning_of(error)
            raise self._layout.error(self.path, problem, failure) from None


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
