"""The end of a command whose output nobody reads any more."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from otpy.core.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ending_with_its_reader"]


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
