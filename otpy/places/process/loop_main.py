"""The main thread of a process child whose actor runs on an event loop: it reads the pipe, and nothing else."""

from __future__ import annotations

import os
import select
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

    from otpy.places.process.inside import Inside
    from otpy.runtime.home import Home
    from otpy.runtime.ref import Ref

__all__ = ["LoopMain"]


class LoopMain:
    """The home of the child's actor: the loop of its system, until the actor has left; then the process ends.

    The loop has a thread of its own, so that a handler which blocks it does not keep the child from hearing its parent.
    """

    def __init__(self, root: Ref[Any], inside: Inside) -> None:
        """Stand before the loop that the actor was given."""
        loop: Any = root.home  # Any: a LoopHome; all of it that a turn may meet is that one's
        self.place, self.queue, self.free = loop.place, loop.queue, loop.free
        self.settle, self.obey = loop.settle, loop.obey
        self.engage, self.close = loop.engage, loop.close
        self.event_loop: asyncio.AbstractEventLoop = loop.loop
        self._inside = inside
        self._has_left = False
        self._wake_fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        home: Home = self
        root.home = home

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
