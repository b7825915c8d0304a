"""Runs foreign code that makes text where it can harm nobody: on a throw-away thread, for a limited time."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from otpy.core.text import exception_line

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TimeBox"]

TOO_SLOW = "<took longer than {seconds:g} s>"
TOO_MANY = "<not asked: earlier ones still run>"


class TimeBox:
    """A `box` for `otpy.core.text`: gives a `__repr__` or `__str__` so many seconds, then goes on with a placeholder.

    Python cannot end a thread, so one that is over time runs on as a daemon; as long as `max_threads` of them do,
    nothing more is asked.
    """

    def __init__(self, seconds: float = 0.5, max_threads: int = 4) -> None:
        """Wait `seconds` for each text."""
        self._seconds = seconds
        self._free = threading.BoundedSemaphore(max_threads)

    def __call__(self, render: Callable[[], str]) -> str:
        """What `render()` returns in time, or a placeholder."""
        if not self._free.acquire(blocking=False):
            return TOO_MANY
        result: list[str] = []
        thread = threading.Thread(target=self._run, args=(render, result), name="otpy-text", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no thread to be had
            self._free.release()
            return TOO_MANY
        thread.join(self._seconds)
        return result[0] if result else TOO_SLOW.format(seconds=self._seconds)

    def _run(self, render: Callable[[], str], result: list[str]) -> None:
        try:
            text = str.__str__(render())
        except BaseException as error:  # foreign code may raise anything, SystemExit too
            text = f"<raised {exception_line(error)}>"
        self._free.release()
        result.append(text)
