"""The file: its connection, its settings, and what its failures mean."""

from __future__ import annotations

import sqlite3
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from otpy.jobs.errors import StoreBrokenError, StoreBusyError, StoreError, StoreFullError
from otpy.jobs.store.sqlite import leading
from otpy.jobs.store.sqlite.opening import FileLock, check, make_file, migrate
from otpy.jobs.store.sqlite.transaction import SqliteTransaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otpy.jobs.model import Lead

__all__ = ["SqliteStore", "wall_clock"]

MEMORY = ":memory:"

SETTINGS = """
pragma auto_vacuum = incremental;
pragma journal_mode = wal;
pragma synchronous = {synchronous};
pragma busy_timeout = {patience_ms};
pragma foreign_keys = on;
pragma wal_autocheckpoint = 1000;
pragma journal_size_limit = 67108864;
pragma temp_store = memory;
pragma cache_size = -8000;
"""

ERRORS: dict[str, type[StoreError]] = {
    "SQLITE_BUSY": StoreBusyError,
    "SQLITE_LOCKED": StoreBusyError,
    "SQLITE_FULL": StoreFullError,
    "SQLITE_CORRUPT": StoreBrokenError,
    "SQLITE_NOTADB": StoreBrokenError,
}


def wall_clock() -> int:
    """Milliseconds of the wall clock."""
    return time.time_ns() // 1_000_000


class SqliteStore:
    """As `otpy.jobs.store.protocol.Store` says. Opened and used by one thread."""

    def __init__(
        self,
        path: Path | str,
        *,
        profile: Literal["full", "fast"] = "full",
        patience: float = 5.0,
        now: Callable[[], int] = wall_clock,
    ) -> None:
        """Open the file, which is made when it is not there.

        Args:
            path: the file, or `:memory:` for one that lives as long as this object.
            profile: `full` has each commit on the disk before it returns; `fast` loses nothing when the program dies,
                but may lose the last commits when the power fails.
            patience: seconds to wait for another program that writes.
            now: the time, in milliseconds.

        Raises:
            StoreError: it cannot be opened, or is damaged.
            StoreVersionError: a newer otpy has written it.
        """
        self.path = str(path)
        self._now = now
        self._claims: dict[int, str] = {}
        self._lock = None if self.path == MEMORY else FileLock(make_file(Path(path)))
        with self._failures():
            self._db = sqlite3.connect(self.path, isolation_level=None, cached_statements=256)
            synchronous = "full" if profile == "full" else "normal"
            self._db.executescript(SETTINGS.format(synchronous=synchronous, patience_ms=round(patience * 1_000)))
            if self._lock is not None and self._lock.was_unclean:
                check(self._db)
            migrate(self._db, self.path)
        if self._lock is not None:
            self._lock.share()

    @contextmanager
    def transaction(self) -> Iterator[SqliteTransaction]:
        """Begin one that may write."""
        with self._failures():
            self._db.execute("begin immediate")
            try:
                transaction = SqliteTransaction(self._db, self._now(), self._claims)
                yield transaction
                transaction.finish()
                self._db.execute("commit")
            except BaseException:
                if self._db.in_transaction:
                    with suppress(sqlite3.Error):  # some failures end it by themselves
                        self._db.execute("rollback")
                raise

    def lead(self, name: str) -> Lead | None:
        """Who was elected last."""
        with self._failures():
            return leading.lead(self._db, name)

    def changes(self) -> int:
        """Differs when another program has written."""
        with self._failures():
            return int(self._db.execute("pragma data_version").fetchone()[0])

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()
        if self._lock is not None:
            self._lock.release()

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "")
            kind = next((kind for start, kind in ERRORS.items() if name.startswith(start)), StoreError)
            raise kind(self.path, f"{error} ({name})" if name else str(error)) from None
