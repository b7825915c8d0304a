"""One end of the pipe between a process child and its parent: it sends, and knows who waits for which answer."""

from __future__ import annotations

import itertools
import select
import socket
import threading
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from otpy.places.process.codec import MAX_FRAME, PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable

    import msgpack

    from otpy.places.process.codec import Encoder

__all__ = ["Line"]


TOGETHER = 1 << 10
"""Bytes that are written as soon as they have gathered."""
APART = 0.0005
"""Seconds after which a message is no longer one of many that come at once."""
NOW = int(socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)


class Waiter(Protocol):
    """Who waits for an answer."""

    @property
    def claim(self) -> list[bool]:
        """Empty once it no longer waits."""

    def resolve(self, value: object) -> object:
        """The answer."""

    def break_off(self, error: BaseException) -> object:
        """What came in its place."""


class Line:
    """Sends messages, in the order of the calls, from any thread, and never blocks the parent."""

    def __init__(
        self,
        sock: socket.socket,
        encoder: Encoder,
        *,
        on_full: Callable[[], None] | None = None,
        on_rest: Callable[[], None] | None = None,
    ) -> None:
        """Own the socket.

        `on_full` says that `flush` is to be called when the pipe has room, `on_rest` that it is to be called soon.
        Without them it is a child's end: there each message is written by its sender, who waits while the pipe is full.
        """
        self.socket = sock
        self.encoder = encoder
        self.waiting: dict[int, Waiter] = {}  # who waits for which answer; any thread changes it, so looks take a copy
        self.asked: dict[int, Any] = {}  # Any: a FarCaller; the other side's calls that are not answered
        self.owner: Any = None  # Any: in the parent the Child at the other end
        self.numbers = itertools.count(1)
        self.is_parent = on_full is not None
        self.on_wait: Callable[[], object] = _nothing
        self.lead: Callable[[Waiter, int], bool | None] | None = None
        """Called by who has sent a request; returns as `FarBox.append`. The parent's end has it."""
        self._on_full = on_full or _nothing
        self._on_rest = on_rest or _nothing
        # Guards the order of messages, `_backlog`, `_is_full`, `_packer`. RLock: a `__del__` in the middle may send.
        self._lock = threading.RLock()
        self._backlog = bytearray()
        self._is_full = False
        self._wrote_at = 0.0
        self._packer: msgpack.Packer | None = encoder.packer()

    def say(self, *parts: object) -> None:
        """Send one message at once. Raises UncarriableError."""
        self.send([*parts])

    def send(self, parts: list[Any], may_wait: bool = False) -> None:  # noqa: FBT001, FBT002 - a keyword costs more
        """Send one message; to a pipe that is closed it is lost, as its reader is about to notice.

        Of those that `may_wait`, when many come at once, some go together: a system call costs more than all else.

        Raises:
            UncarriableError: it cannot be sent, and nothing was.
        """
        with self._lock:
            packer, self._packer = self._packer, None  # a `__reduce__` or a `__del__` in the middle sends, too
            try:
                data = (packer or self.encoder.packer()).pack(parts)
            except BaseException as error:
                self._packer = self.encoder.packer()
                self.encoder.refuse(error)
                raise
            self._packer = packer or self.encoder.packer()
            size = len(data)
            if size > MAX_FRAME:
                self.encoder.check(size)
            backlog = self._backlog
            is_first = not backlog
            backlog += PREFIX(size) + data  # at once: in between, the handler of a signal might send, too
            if not self.is_parent:
                try:
                    self._write_all()
                except BaseException:
                    self._write_all()  # it may have been interrupted before it had begun
                    raise
                return
            if self._is_full:
                return
            try:
                if may_wait and len(backlog) < TOGETHER and (not is_first or monotonic() - self._wrote_at < APART):
                    if is_first:
                        self._on_rest()
                else:
                    self._write()
                    self._wrote_at = monotonic()
            except BaseException:  # an interrupt: those that come next must not wait for somebody else to write
                self._on_rest()
                raise

    def _write(self) -> None:
        """Write what the pipe takes; called with the lock held."""
        backlog = self._backlog
        # Called by an assignment, after which no signal handler runs before what was sent is deleted: an interrupt in
        # between would have it sent twice.
        draw = map(self.socket.send, (backlog,), (NOW,))
        try:
            (sent,) = draw
            del backlog[:sent]
        except BlockingIOError:
            pass
        except OSError:
            backlog.clear()
        is_full = bool(backlog)
        if is_full and not self._is_full:
            self._on_full()  # then noted: an interrupt in between has it said twice, and not never
        self._is_full = is_full

    def _write_all(self) -> None:
        """Write everything, in a child: with the lock held, and however long the pipe is full.

        What the handler of a signal raises meanwhile is raised afterwards, for half a message would be the end of this
        process; what it sends goes behind what is being sent.
        """
        problem = None
        while self._backlog:
            try:
                self._write()
                if self._is_full:
                    poll = select.poll()
                    poll.register(self.socket, select.POLLOUT)
                    poll.poll()
            except BaseException as error:
                problem = error
        if problem is not None:
            try:
                raise problem
            finally:
                del problem  # it knows this frame

    def flush(self, when_done: Callable[[], None] | None = None) -> bool:
        """Write what the pipe takes of the rest; `when_done` is called when nothing is left, before any more is.

        False when somebody writes just now, and it is to be called again: who does so may be a thread in whose middle
        the handler of a signal waits for an answer, which is read by who calls this.
        """
        if not self._lock.acquire(blocking=False):
            return False
        try:
            if self._backlog:
                self._write()
            if not self._backlog and when_done is not None:
                when_done()
        finally:
            self._lock.release()
        return True

    def let_go(self) -> None:
        """In a copy of the program, made by `os.fork`: what it says is not heard, and breaks into nobody's words."""
        copy: Any = self  # Any: what a method is is changed
        copy.send = _unheard
        self._lock = threading.RLock()
        self.socket.close()

    def expect(self, slot: Waiter) -> int:
        """Note who waits for an answer; returns its number."""
        number = next(self.numbers)
        self.waiting[number] = slot
        self.on_wait()
        if number % 1_000 == 0:
            self._forget_late()
        return number

    def is_asked(self) -> bool:
        """Whether anybody waits for an answer."""
        return any(slot.claim for slot in self.waiting.copy().values())

    def _forget_late(self) -> None:
        """Drop those who no longer wait, for their answer may never come."""
        for number, slot in self.waiting.copy().items():
            if not slot.claim:
                self.waiting.pop(number, None)

    def answer(self, number: Any, value: object) -> None:
        """An answer has come."""
        slot = self.waiting.get(number)
        if slot is not None:
            slot.resolve(value)
            self.waiting.pop(number, None)  # then: who waits for rest must find one of the two

    def refuse(self, number: Any, error: BaseException) -> None:
        """An error has come in its place."""
        slot = self.waiting.get(number)
        if slot is not None:
            slot.break_off(error)
            self.waiting.pop(number, None)

    def take_waiting(self, ref: object) -> list[Any]:
        """Who waits for an answer of an actor that has ended."""
        ours = [number for number, slot in self.waiting.copy().items() if getattr(slot, "target", None) is ref]
        return [slot for number in ours if (slot := self.waiting.pop(number, None)) is not None]


def _unheard(parts: list[Any], may_wait: bool = False) -> None:  # noqa: FBT001, FBT002 - as `Line.send`
    """A copy of the program speaks to nobody."""


def _nothing() -> None:
    """A child's end needs no help."""
