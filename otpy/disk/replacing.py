"""Files that are written as a whole: who reads one finds what was there before, or what is now, and never a part."""

from __future__ import annotations

import itertools
import os
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING

from otpy.core.points import point
from otpy.disk.files import OWNER_ONLY, sync

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["TEMPORARY", "remove_temporary", "replace_file"]

TEMPORARY = ".otpy-new"
"""The end of the name under which a file is written; one that is found was left by a program that died then."""


_NUMBERS = itertools.count()  # no two writes, of whatever thread, share a name


def replace_file(path: Path, data: bytes, guard: Callable[[], AbstractContextManager[object]] = nullcontext) -> None:
    """Have a file hold this, on the disk when it returns: written beside it, synced, renamed, the folder synced.

    Only its owner can read it. The folder must be there.

    Args:
        path: the file; what it held is gone afterwards.
        data: what it holds then.
        guard: made and held around the rename; may refuse it by raising.

    Raises:
        OSError: it is not written, and holds what it held; or it is, but may not outlive a power failure.
    """
    new = path.with_name(f"{path.name}.{os.getpid()}-{next(_NUMBERS)}{TEMPORARY}")
    try:
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, OWNER_ONLY)
        try:
            point("file.write", "file")
            _write_all(fd, data)
            point("file.sync", "file")
            os.fsync(fd)
        finally:
            os.close(fd)
        with guard():
            point("file.rename", "file")
            os.replace(new, path)  # noqa: PTH105 - a step at which tests end the program, as the others here
    except BaseException:
        with suppress(OSError):
            os.unlink(new)  # noqa: PTH108 - as above
        raise
    point("file.renamed", "file")
    sync(path.parent)


def remove_temporary(folder: Path) -> None:
    """Take away what programs have left that died while they wrote; for who has the folder alone."""
    for left in folder.glob(f"*{TEMPORARY}"):
        left.unlink(missing_ok=True)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
