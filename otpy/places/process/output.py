"""What process children print: one thread reads it all and hands it to the log, line by line, with the actor's path."""

from __future__ import annotations

import logging
import os
import select
import sys
import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from otpy.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Output", "Pipe"]

LINE = 8_000
"""Bytes of one line; a longer one is cut into several."""
READ = 1 << 16

log = logging.getLogger("otpy.child")


class Output:
    """The pipes behind the standard output and error of all children of one system."""

    def __init__(self, on_rest: Callable[[], object] = int) -> None:
        """Start nothing yet; `on_rest` is called when the pipes of all that have ended are closed."""
        self._on_rest = on_rest
        self._lock = threading.Lock()  # guards the start of the thread, which is made with the first pipe
        self._open: dict[int, Pipe] = {}
        self._ended: deque[Pipe] = deque()
        self._poll: select.epoll | None = None
        self._wake_fd = -1
        self._thread: threading.Thread | None = None
        self._is_closing = False

    def add(self, path: str) -> tuple[Pipe, int]:
        """One more pipe: what is read here, and the other end. Raises OSError, RuntimeError."""
        own, far = os.pipe2(os.O_CLOEXEC)
        try:
            os.set_blocking(own, False)
            with self._lock:
                poll = self._start()
                pipe = self._open[own] = Pipe(own, path)
                poll.register(own, select.EPOLLIN)
        except BaseException:
            self._open.pop(own, None)
            os.close(own)
            os.close(far)
            raise
        return pipe, far

    def _start(self) -> select.epoll:
        if self._poll is None:
            poll = select.epoll()
            try:
                self._wake_fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
                poll.register(self._wake_fd, select.EPOLLIN)
                self._thread = threading.Thread(target=self._run, args=(poll,), name="otpy-child-output", daemon=True)
                self._thread.start()
            except BaseException:
                self._thread = None
                self._close_poll(poll)
                raise
            self._poll = poll
        return self._poll

    def _close_poll(self, poll: select.epoll) -> None:
        poll.close()
        wake_fd, self._wake_fd = self._wake_fd, -1
        if wake_fd >= 0:
            os.close(wake_fd)

    def end(self, pipe: Pipe) -> None:
        """A child has ended: what is in the pipe is read and no more, as others may have inherited its other end."""
        self._ended.append(pipe)
        self._wake()

    def is_idle(self) -> bool:
        """Whether all is read and logged that was printed by those that have ended."""
        return not self._ended

    def close(self) -> None:
        """Read the rest and end."""
        self._is_closing = True
        self._wake()
        if self._thread is not None:
            self._thread.join(1.0)

    def let_go(self) -> None:
        """In a copy of the program, which has no such thread, and hears of no output."""
        self._thread = None
        self._is_closing = True
        for fd in self._open:
            os.close(fd)
        self._open = {}
        if self._poll is not None:
            self._close_poll(self._poll)

    def _wake(self) -> None:
        if self._wake_fd >= 0:
            with suppress(OSError):
                os.eventfd_write(self._wake_fd, 1)

    def _run(self, poll: select.epoll) -> None:
        while self._open or not self._is_closing:
            for fd, _ in poll.poll():
                if fd == self._wake_fd:
                    self._end_ended()
                elif fd in self._open and not self._open[fd].read():
                    self._close(fd)
            if self._is_closing:
                self._ended.extend(self._open.values())
                self._end_ended()
        self._close_poll(poll)

    def _end_ended(self) -> None:
        with suppress(BlockingIOError):
            os.eventfd_read(self._wake_fd)
        while self._ended:
            pipe = self._ended[0]
            if self._open.get(pipe.fd) is pipe:  # it may have been closed, and its number be that of another by now
                pipe.read()
                self._close(pipe.fd)
            self._ended.popleft()  # then: who waits for rest waits for that
        self._on_rest()

    def _close(self, fd: int) -> None:
        assert self._poll is not None  # noqa: S101 - it was started
        pipe = self._open.pop(fd)
        pipe.write_rest()
        self._poll.unregister(fd)
        os.close(fd)


class Pipe:
    """One pipe, and the line that is not complete yet."""

    def __init__(self, fd: int, path: str) -> None:
        self.fd = fd
        self.path = path
        self._rest = b""

    def read(self) -> bool:
        """Log what is there, at most one read of it; False at the end."""
        try:
            data = os.read(self.fd, READ)
        except BlockingIOError:
            return True
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._write(line)
        while len(self._rest) > LINE:
            self._write(self._rest[:LINE])
            self._rest = self._rest[LINE:]
        return bool(data)

    def write_rest(self) -> None:
        """Log a last line without an end."""
        if self._rest:
            self._write(self._rest)

    def _write(self, line: bytes) -> None:
        text = visible(line.decode(errors="replace"), LINE)
        if log.level == logging.NOTSET and not log.hasHandlers():
            # No logging was set up, and then Python shows warnings alone: what was printed would vanish without a word.
            with suppress(OSError, ValueError, AttributeError):
                print(f"{self.path}: {text}", file=sys.stderr, flush=True)  # noqa: T201 - who printed it meant this
        else:
            keys = {"system": self.path.partition("/")[0], "path": self.path}
            log.info("%s: %s", self.path, text, extra={"otpy_keys": keys, "otpy_text": text})
