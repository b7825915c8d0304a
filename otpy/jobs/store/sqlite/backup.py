"""A copy of the file as it was at one moment, while others write."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from otpy.disk.files import sync
from otpy.jobs.errors import BackupError
from otpy.jobs.store.sqlite.errors import store_error

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["back_up"]

PAGES = 1_000
"""Pages that are copied at a time; in between who copies may be interrupted."""
BESIDE = ("", "-journal", "-wal", "-shm")
"""What SQLite may leave of a copy that was not finished, the copy first."""


def back_up(db: sqlite3.Connection, to: Path) -> int:
    """Copy what a connection sees, in the transaction that it has begun; the size of the copy in bytes.

    It has its name when it is whole and on the disk, and never takes that of another file.

    Raises:
        BackupError: a file of that name is there, or it cannot be written; nothing is left of it.
    """
    with _failures(to):
        _check(to)
    with _failures(to), _part(to) as part:
        with closing(sqlite3.connect(part, isolation_level=None)) as target:
            db.backup(target, pages=PAGES)
            (said,) = target.execute("pragma quick_check(1)").fetchone()
            target.execute("pragma journal_mode = delete")  # one file, which may be moved
        if said != "ok":
            raise BackupError(str(to), f"the copy is not whole, and so the file may not be: {said}")
        sync(part)
        os.link(part, to)  # unlike a rename it fails when somebody was faster
        sync(to.parent)
        return to.stat().st_size


def _check(to: Path) -> None:
    if to.exists():
        raise BackupError(str(to), "there is a file of that name, and none is overwritten")
    if not to.parent.is_dir():
        raise BackupError(str(to), f"there is no folder {to.parent}")


@contextmanager
def _part(to: Path) -> Iterator[Path]:
    """A file beside it, for its owner alone, that is gone afterwards."""
    handle, name = tempfile.mkstemp(prefix=f".{to.name}-", dir=to.parent)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        for ending in BESIDE:
            Path(name + ending).unlink(missing_ok=True)


@contextmanager
def _failures(to: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise BackupError(str(to), "there is a file of that name by now, and none is overwritten") from None
    except (sqlite3.Error, OSError, ValueError) as error:  # the last: what can be no name of a file
        raise BackupError(str(to), store_error(str(to), error).problem) from None
