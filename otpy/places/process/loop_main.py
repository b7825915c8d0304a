"""The main thread of a process child whose actor runs on an event loop: it reads the pipe, and nothing else."""

from __future__ import annotations

import os
import select
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from otpy.places.process.inside import Inside
    from otpy.runtime.home import Home, RunQueue
    from otpy.runtime.ref import Ref

__all__ = ["LoopMain"]


class LoopMain:
    """The home of the child's actor: the loop of its system, until the actor has left; then the process ends.

    The loop has a thread of its own, so that a handler which blocks it does not keep the child from hearing its parent.
    """

    def __init__(self, root: Ref[Any], inside: Inside) -> None:
        """Stand before the loop that the actor was given."""
        self._loop: Any = root.home  # Any: a LoopHome, which this one looks like
        self._inside = inside
        self._has_left = False
        self._wake_fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        home: Home = self
        root.home = home

    @property
    def place(self) -> str:
        """As seen inside."""
        return str(self._loop.place)

    @property
    def queue(self) -> RunQueue:
        """The loop's."""
        queue: RunQueue = self._loop.queue
        return queue

    @property
    def free(self) -> list[Any]:
        """The loop's."""
        free: list[Any] = self._loop.free
        return free

    @property
    def settle(self) -> Callable[[Ref[Any], object, Any], Coroutine[Any, Any, None]] | None:
        """As on the loop."""
        settle: Callable[[Ref[Any], object, Any], Coroutine[Any, Any, None]] | None = self._loop.settle
        return settle

    @property
    def obey(self) -> Callable[[Ref[Any]], Coroutine[Any, Any, None]] | None:
        """As on the loop."""
        obey: Callable[[Ref[Any]], Coroutine[Any, Any, None]] | None = self._loop.obey
        return obey

    def engage(self) -> bool:
        """Have the loop begin a turn."""
        return bool(self._loop.engage())

    def close(self) -> None:
        """Close the loop."""
        self._loop.close()

    def release(self) -> None:
        """The actor has left for good."""
        self._has_left = True
        os.eventfd_write(self._wake_fd, 1)

    def serve(self) -> None:
        """Read the pipe, in the main thread, until the actor has left."""
        poll = select.poll()
        poll.register(self._inside.line.socket, select.POLLIN)
        poll.register(self._wake_fd, select.POLLIN)
        while not self._has_left:
            for fd, _ in poll.poll():
                if fd != self._wake_fd:
                    self._inside.read()
                else:
                    with suppress(BlockingIOError):
                        os.eventfd_read(fd)
