"""Runs commands that may wait, each on a thread of its own, so that none keeps another one or the server waiting."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

from otpy.control.errors import BusyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Commands"]

K = TypeVar("K")


class Commands(Generic[K]):
    """The commands that run now, each for a key, and the replies of those that are done."""

    def __init__(self, max_commands: int, wake: Callable[[], None]) -> None:
        """Run at most `max_commands` at once; `wake` is called from a command's thread when its reply is there."""
        self._max = max_commands
        self._wake = wake
        self._threads: list[threading.Thread] = []
        self._done: deque[tuple[K, bytes]] = deque()

    def start(self, name: str, key: K, work: Callable[[], bytes]) -> None:
        """Run `work`, which never raises, for `key`.

        Raises:
            BusyError: as many run already, or no thread is to be had.
        """
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        if len(self._threads) >= self._max:
            raise BusyError(f"{len(self._threads)} commands run already: wait for one of them")
        thread = threading.Thread(target=self._run, args=(key, work), name=f"otpy-control-{name}", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            raise BusyError(f"no thread to be had for it: {error}") from error
        self._threads.append(thread)

    def finished(self) -> Iterator[tuple[K, bytes]]:
        """Each reply that came in since the last look, with its key."""
        while self._done:
            yield self._done.popleft()

    def running(self) -> list[threading.Thread]:
        """The threads of commands that are not done."""
        return [thread for thread in self._threads if thread.is_alive()]

    def _run(self, key: K, work: Callable[[], bytes]) -> None:
        self._done.append((key, work()))
        self._wake()
