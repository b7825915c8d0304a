"""Deeds in a forked child of the tests."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["in_a_child"]


def in_a_child(deed: Callable[[], bool]) -> int:
    """Do it in a forked child; 0 when it is true there, and 1 when it is not or raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 warns of forks in programs with threads
        pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        os._exit(not deed())
    finally:
        os._exit(1)
