"""What a forked child must let go of: it has copies of its parent's sockets and locks, but none of its threads."""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["after_fork", "forget", "holders"]

# Fork hooks belong to the process and cannot be taken back, so this table is the one thing here that is no system's.
_callbacks: dict[int, Callable[[], None]] = {}
_numbers = count()


def after_fork(callback: Callable[[], None]) -> int:
    """Have `callback` run in every forked child, until `forget` is called with the returned number.

    It runs before the child's own code and must take no lock: the thread that held it may not exist there.
    """
    number = next(_numbers)
    _callbacks[number] = callback
    return number


def forget(number: int) -> None:
    """Stop running the callback with this number; unknown numbers are fine."""
    _callbacks.pop(number, None)


def holders() -> list[object]:
    """Whose methods are in the table: what still holds a socket or a lock; tests look here for what was left behind."""
    return [getattr(callback, "__self__", None) for callback in list(_callbacks.values())]


def _in_child() -> None:
    for callback in list(_callbacks.values()):
        callback()
    _callbacks.clear()


os.register_at_fork(after_in_child=_in_child)
