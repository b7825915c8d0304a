"""One connection to the probes' server: it asks once, takes its answer, and goes, all within its time."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import TYPE_CHECKING

from otpy.health.http.page import asked_in, written

if TYPE_CHECKING:
    from otpy.health.http.page import Asked, Page

__all__ = ["Visitor"]

CHUNK = 16 * 1024
"""Bytes read or written at once, so that none keeps the thread long."""
NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)
"""A program may have given SIGPIPE its deadly meaning back."""
LINGER = 1.0
"""Seconds in which one that has its answer may still send: to close at once would take the answer away from it."""


class Visitor:
    """Touched by the server's thread alone; its socket does not block."""

    def __init__(self, connected: socket.socket, until: float) -> None:
        """Have time until then, by the monotonic clock."""
        self.socket = connected
        self.until = until
        self.came = until
        """Those who came first make room first."""
        self.is_waiting = False
        """Whether its answer is being made."""
        self.is_head = False
        """Whether it wants no body."""
        self.is_deaf = False
        """Whether nothing more comes from it: many close their half of the connection once they have asked."""
        self._data = b""
        self._left: memoryview | None = None
        self._is_done = False

    @property
    def has_to_write(self) -> bool:
        """Whether it has not taken its whole answer."""
        return bool(self._left)

    @property
    def is_over(self) -> bool:
        """Whether it has its answer, and nothing more comes."""
        return self._is_done and self.is_deaf

    @property
    def has_asked(self) -> bool:
        """Whether nothing more is read from it but to be thrown away."""
        return self.is_waiting or self._left is not None

    def receive(self) -> Asked | Page | None:
        """Take what has come; what it asks, or the answer to what is no question, once that is there.

        Raises:
            OSError: it has hung up, or never will ask.
        """
        data = self.socket.recv(CHUNK)
        self.is_deaf = not data
        if self.has_asked:
            return None
        if self.is_deaf:
            raise ConnectionResetError("it has hung up")
        self._data += data
        asked = asked_in(self._data)
        if asked is not None:
            self._data = b""
        return asked

    def answer(self, page: Page, now: float) -> None:
        """Write an answer, as far as it is taken. Raises OSError."""
        self.is_waiting = False
        self._left = memoryview(written(page, is_head=self.is_head))
        self.flush(now)

    def flush(self, now: float) -> None:
        """Write on. Raises OSError."""
        if self._left is None:
            return
        with suppress(BlockingIOError):
            while self._left:
                sent = self.socket.send(self._left[:CHUNK], NO_SIGNAL)
                self._left = self._left[sent:]
        if not self._left and not self._is_done:
            self._is_done = True
            self.until = min(self.until, now + LINGER)
            self.socket.shutdown(socket.SHUT_WR)

    def expire(self, page: Page, now: float) -> bool:
        """Its time is over; True when it gets an answer that says so, and a moment to take it."""
        if self._left is not None:
            return False
        self.until = now + LINGER
        self.answer(page, now)
        return True
