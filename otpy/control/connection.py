"""One client of the control socket: what it has sent, what it has still to take, and until when."""

from __future__ import annotations

import math
import socket
from typing import TYPE_CHECKING

from otpy.control.wire import FrameReader

if TYPE_CHECKING:
    from otpy.control.limits import Limits

__all__ = ["Connection"]

CHUNK = 64 * 1024
"""Bytes read or written at once, so that no client keeps the loop long."""

# A program may have given SIGPIPE back its deadly meaning; a client that hangs up must not kill it.
NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)


class Connection:
    """A client; only the server's loop touches it."""

    __slots__ = (
        *("_answered", "_frame_since", "_limits", "_outgoing", "_quiet_since", "_reader"),
        *("busy", "ending", "in_line", "socket"),
    )

    def __init__(self, connected: socket.socket, limits: Limits, now: float) -> None:
        """Serve a socket that does not block; `now` is on the monotonic clock, as everywhere here."""
        self.socket = connected
        self.busy = False
        """Whether a command of it runs; it sends no further request meanwhile, or that one waits."""
        self.ending = False
        """Whether it is closed as soon as it has taken what is written."""
        self.in_line = False
        """Whether its next request is about to be looked at; until then nothing more is read from it."""
        self._limits = limits
        self._answered = False
        self._reader = FrameReader(limits.max_request_bytes)
        self._outgoing = memoryview(b"")
        self._quiet_since = now
        self._frame_since = now

    @property
    def has_to_write(self) -> bool:
        """Whether it has not taken its whole reply yet."""
        return bool(self._outgoing)

    @property
    def waiting_bytes(self) -> int:
        """How much of its reply it has not taken yet."""
        return len(self._outgoing)

    @property
    def quiet_since(self) -> float:
        """When it last finished something; the longest quiet one makes room for others."""
        return self._quiet_since

    @property
    def deadline(self) -> float:
        """When it loses its connection unless something happens."""
        if self.has_to_write:
            return self._quiet_since + self._limits.write_time
        if self.busy:
            return math.inf
        if self._reader.has_bytes:
            return self._frame_since + self._limits.frame_time
        return self._quiet_since + self._limits.idle_time

    def receive(self, now: float) -> bool:
        """Take what has arrived; False when the client has hung up.

        Raises:
            OSError: the connection is broken.
        """
        data = self.socket.recv(CHUNK)
        if data and not self._reader.has_bytes:
            self._frame_since = now
        self._reader.feed(data)
        return bool(data)

    def next_frame(self, now: float) -> bytes | None:
        """The next whole request, unless the last one is still being answered.

        Raises:
            WireError: it is too long.
        """
        if self.busy or self.has_to_write or self.ending:
            return None
        frame = self._reader.next_frame()
        if frame is not None or self._answered:
            # The time of a request that came in with the one before runs from that one's answer: nobody read meanwhile.
            self._quiet_since = self._frame_since = now
        self._answered = frame is not None
        return frame

    def send(self, frame: bytes, now: float) -> None:
        """Write a reply as far as the client takes it; the rest goes with `flush`.

        Raises:
            OSError: the connection is broken.
        """
        self._outgoing = memoryview(frame)
        self._quiet_since = now
        self.flush()

    def flush(self) -> None:
        """Write more.

        Raises:
            OSError: the connection is broken.
        """
        try:
            sent = self.socket.send(self._outgoing[:CHUNK], NO_SIGNAL)
        except BlockingIOError:
            return
        self._outgoing = self._outgoing[sent:]
