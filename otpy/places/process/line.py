"""One end of the pipe between a process child and its parent: what is said over it, and who waits for an answer."""

from __future__ import annotations

import itertools
import socket
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.places.process.codec import Encoder
    from otpy.runtime.seat import Slot

__all__ = ["Line", "Say"]


class Say:
    """The first item of each message. Those to an actor name it next: 0 is the child itself, others were handed out."""

    CAST = 1
    CALL = 2
    INFO = 3
    ASK = 4
    STOP = 5
    EXIT = 6
    KILL = 7
    CAST_WORDS = 8
    CALL_WORDS = 9
    REPLY = 10
    FAIL = 11
    PREPARE = 12
    START = 13
    BORN = 14
    ENDED = 15
    GONE = 16
    WHEREIS = 17


class Line:
    """Sends messages, in the order of the calls, from any thread, and never blocks the parent."""

    def __init__(self, sock: socket.socket, encoder: Encoder, on_backlog: Callable[[], None] | None) -> None:
        """Own the socket; without `on_backlog` a full pipe makes the sender wait."""
        self.socket = sock
        self.encoder = encoder
        self.waiting: dict[int, Slot] = {}  # who waits for which answer
        self.numbers = itertools.count(1)
        self.is_parent = on_backlog is not None
        self._on_backlog = on_backlog
        self._lock = threading.RLock()  # RLock: a `__del__` in the middle of it may send
        self._backlog = bytearray()

    def say(self, *parts: object) -> None:
        """Send one message. Raises UncarriableError."""
        self.send(self.encoder.frame([*parts]))

    def send(self, data: bytes) -> None:
        """Send what is encoded already; to a pipe that is closed it is lost, as its reader is about to notice."""
        with self._lock:
            if self._backlog:
                self._backlog += data
                return
            try:
                if self._on_backlog is None:
                    self.socket.sendall(data)
                    return
                sent = self.socket.send(data, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
            except BlockingIOError:
                sent = 0
            except OSError:
                return
            if sent < len(data):
                self._backlog += memoryview(data)[sent:]
                if self._on_backlog is not None:
                    self._on_backlog()

    def flush(self) -> bool:
        """Send what the pipe takes of the rest; whether nothing is left."""
        with self._lock:
            try:
                sent = self.socket.send(self._backlog, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
            except BlockingIOError:
                return not self._backlog
            except OSError:
                self._backlog.clear()
                return True
            del self._backlog[:sent]
            return not self._backlog

    @property
    def has_backlog(self) -> bool:
        """Whether a part of what was said still waits here."""
        return bool(self._backlog)

    def expect(self, slot: Slot) -> int:
        """Note who waits for an answer; returns its number."""
        number = next(self.numbers)
        self.waiting[number] = slot
        if number % 1_000 == 0:
            self._forget_late()
        return number

    def is_asked(self) -> bool:
        """Whether anybody waits for an answer."""
        return any(slot.claim for slot in list(self.waiting.values()))

    def _forget_late(self) -> None:
        """Drop those who no longer wait, for their answer may never come."""
        for number, slot in list(self.waiting.items()):
            if not slot.claim:
                self.waiting.pop(number, None)

    def answer(self, number: Any, value: object) -> None:
        """An answer has come."""
        slot = self.waiting.pop(number, None)
        if slot is not None:
            slot.resolve(value)

    def refuse(self, number: Any, error: BaseException) -> None:
        """An error has come in its place."""
        slot = self.waiting.pop(number, None)
        if slot is not None:
            slot.break_off(error)

    def take_waiting(self, ref: object) -> list[Any]:
        """Who waits for an answer of an actor that has ended."""
        ours = [number for number, slot in self.waiting.copy().items() if getattr(slot, "target", None) is ref]
        return [slot for number in ours if (slot := self.waiting.pop(number, None)) is not None]
