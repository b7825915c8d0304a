"""The end of a command whose output nobody reads any more."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from otpy.core.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ending_with_its_reader", "write_wholly"]


def write_wholly() -> None:
    """Have an output without a buffer, as with PYTHONUNBUFFERED, write all of a text or fail.

    CPython takes it for done when a pipe takes a part of it, and so would never hear that its reader has gone.
    """
    output = sys.stdout
    if isinstance(output, io.TextIOWrapper) and isinstance(output.buffer, io.RawIOBase):
        whole: Any = _Whole(output.buffer)  # Any: it has all of a buffer that a text layer uses
        sys.stdout = io.TextIOWrapper(whole, output.encoding, output.errors, write_through=True)


class _Whole(io.RawIOBase):
    """A raw output that writes again until nothing is left; it leaves the file to its owner."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._raw.fileno()

    def isatty(self) -> bool:
        return self._raw.isatty()

    def write(self, data: Any, /) -> int:
        left = memoryview(data)
        while left:
            written = self._raw.write(left)
            if written is None:
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            left = left[written:]
        return len(data)


@contextmanager
def ending_with_its_reader() -> Iterator[None]:
    """End the command without a word when nobody reads its output any more, as in `otpy tree | head`."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.EPIPE:
            raise
        _forget_output()
        raise SystemExit(ExitCode.UNREAD) from None


def _forget_output() -> None:
    """Send what is still buffered nowhere, or Python complains of it as it ends."""
    with suppress(OSError, ValueError):  # no file at all, as in tests
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
