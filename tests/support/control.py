"""Clients of a control socket for tests: `RawClient` speaks bytes, so that it can misbehave."""

from __future__ import annotations

import select
import socket
import struct
import threading
from typing import TYPE_CHECKING, Self

import msgpack

from otpy.control.limits import Limits
from otpy.control.wire import PROTOCOL, UNICODE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

__all__ = ["PATIENT", "RawClient", "control_threads", "frame", "request"]

PATIENCE = 20.0
"""Seconds a test waits for bytes; only a failing one waits so long."""
PATIENT = Limits(frame_time=30.0, write_time=30.0, idle_time=30.0)
"""For tests in which no time may run out."""


def control_threads() -> list[str]:
    """The names of the threads that control servers have, sorted."""
    return sorted(thread.name for thread in threading.enumerate() if thread.name.startswith("otpy-control"))


def frame(value: object) -> bytes:
    """One frame."""
    payload: bytes = msgpack.packb(value, unicode_errors=UNICODE)
    return struct.pack(">I", len(payload)) + payload


def request(verb: str, number: object = 1, **params: object) -> bytes:
    """One request."""
    return frame({"protocol": PROTOCOL, "id": number, "verb": verb, "params": params})


class RawClient:
    """A client that sends what it is told to send."""

    def __init__(self, path: Path | None) -> None:
        """Connect, without reading the greeting."""
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        try:
            self.socket.connect(str(path))
        except BaseException:
            self.socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Send bytes, as they are."""
        self.socket.sendall(data)

    def reply(self) -> dict[str, object]:
        """The next frame."""
        (length,) = struct.unpack(">I", self._exactly(4))
        reply: dict[str, object] = msgpack.unpackb(self._exactly(length), unicode_errors=UNICODE)
        return reply

    def is_hung_up_on(self) -> bool:
        """Whether the server closed the connection; waits for it."""
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        return True

    def is_hung_up_on_unread(self) -> bool:
        """The same, without taking a byte of what was sent."""
        poll = select.poll()
        poll.register(self.socket, 0)
        return bool(poll.poll(PATIENCE * 1_000))

    def converse(self, pieces: Iterable[bytes], read: Callable[[bytes], object]) -> None:
        """Send each piece by itself, say that no more comes, and hand on what is received until the server hangs up."""
        left = [piece for piece in pieces if piece][::-1]
        self.socket.settimeout(0.0)
        poll = select.poll()
        poll.register(self.socket, select.POLLIN | select.POLLOUT)
        while True:
            events = poll.poll(PATIENCE * 1_000)[0][1]
            if events & select.POLLOUT:
                self._send_some(left)
                if not left:
                    poll.modify(self.socket, select.POLLIN)
            if events & ~select.POLLOUT:
                data = self._received()
                if not data:
                    return
                read(data)

    def _send_some(self, left: list[bytes]) -> None:
        """Send what the server takes of the last piece; after all of them, or when it takes no more, say that."""
        try:
            if left:
                piece = left.pop()
                left += [rest] if (rest := piece[self.socket.send(piece) :]) else []
            if not left:
                self.socket.shutdown(socket.SHUT_WR)
        except BlockingIOError:
            left.append(piece)
        except OSError:
            left.clear()

    def _received(self) -> bytes:
        try:
            return self.socket.recv(65536)
        except ConnectionResetError:
            return b""

    def _exactly(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            piece = self.socket.recv(length - len(data))
            if not piece:
                raise ConnectionError
            data += piece
        return data
