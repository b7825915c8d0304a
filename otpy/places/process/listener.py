"""One thread that listens to the pipes of all process children of a system, and does what is due."""

from __future__ import annotations

import heapq
import itertools
import logging
import os
import select
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.places.process.lead import Lead
    from otpy.places.process.line import Line

__all__ = ["Due", "Listener"]

log = logging.getLogger("otpy")

SOON = 0.001
"""Seconds a cast waits at most for others that go with it."""


class Due:
    """Something that is to be done later."""

    __slots__ = ("what",)

    def __init__(self, what: Callable[[], None]) -> None:
        self.what: Callable[[], None] | None = what

    def cancel(self) -> None:
        """Do it not; called in the listener's thread."""
        self.what = None


class Listener:
    """Calls who can read; all calls are made in its thread, which starts with the first use."""

    def __init__(self, is_over: Callable[[], bool], on_end: Callable[[], None]) -> None:
        """`is_over` is asked after everything that happens; then `on_end` is called, and the thread ends."""
        self.thread: threading.Thread | None = None
        self.until: float | None = None
        """When it is over at the latest, by `time.monotonic`."""
        self._is_over = is_over
        self._on_end = on_end
        # Guards which descriptors are watched for what; always after the lock of a line, never before it.
        self._lock = threading.RLock()
        self._handlers: dict[int, Callable[[], None]] = {}
        self._writers: dict[int, Line] = {}
        self._deaf: set[int] = set()
        self._due: list[tuple[float, int, Due]] = []
        self._count = itertools.count()
        self._held_off: dict[Lead, int] = {}
        self._look_at = 0.0
        self._soon: dict[Line, None] = {}
        self._soon_at = 0.0
        self._is_soon = False
        self._poll: select.epoll | None = None
        self._wake_fd = -1

    def start(self) -> None:
        """Have the thread run, if it does not yet. Raises OSError, RuntimeError."""
        if self.thread is not None:
            return
        poll = select.epoll()
        try:
            self._wake_fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
            self._handlers[self._wake_fd] = self._drain
            poll.register(self._wake_fd, select.EPOLLIN)
            self._poll = poll
            thread = threading.Thread(target=self._run, args=(poll,), name="otpy-ports", daemon=True)
            thread.start()
        except BaseException:
            self._close(poll)
            raise
        self.thread = thread

    def watch(self, fd: int, handler: Callable[[], None]) -> None:
        """Call the handler whenever this can be read. Raises OSError."""
        with self._lock:
            assert self._poll is not None  # noqa: S101 - it was started
            self._handlers[fd] = handler
            try:
                self._poll.register(fd, select.EPOLLIN)
            except BaseException:
                del self._handlers[fd]
                raise

    def unwatch(self, fd: int) -> None:
        """Listen to this no longer."""
        with self._lock:
            if self._handlers.pop(fd, None) is not None and self._poll is not None:
                with suppress(OSError):
                    self._poll.unregister(fd)
            self._writers.pop(fd, None)
            self._deaf.discard(fd)

    def watch_writes(self, line: Line) -> None:
        """A pipe is full: go on when it has room again."""
        fd = line.socket.fileno()
        with self._lock:
            if fd in self._handlers and fd not in self._writers and self._poll is not None:
                self._writers[fd] = line
                self._poll.modify(fd, select.EPOLLOUT | (0 if fd in self._deaf else select.EPOLLIN))

    def hold_off(self, lead: Lead) -> None:
        """Listen to a child no more, but look again soon whether its callers read still; from any thread.

        An interrupt may come at any point: first it is noted that it is to be looked after, then it is held off.
        """
        with self._lock:
            self._held_off[lead] = lead.count
            self.wake()
            self._listen(lead, is_heard=False)

    def listen(self, lead: Lead) -> None:
        """Listen to it again; from any thread."""
        with self._lock:
            self._listen(lead, is_heard=True)

    def _listen(self, lead: Lead, *, is_heard: bool) -> None:
        lead.is_heard = is_heard
        fd = lead.socket.fileno()
        (self._deaf.discard if is_heard else self._deaf.add)(fd)
        if fd in self._handlers and self._poll is not None:
            events = (select.EPOLLIN if is_heard else 0) | (select.EPOLLOUT if fd in self._writers else 0)
            self._poll.modify(fd, events)

    def flush_soon(self, line: Line) -> None:
        """Write what it was given, unless that is done by who sends more."""
        self._soon[line] = None
        if not self._is_soon:  # added, then looked; the thread says that it is about to look, then looks
            self._is_soon = True
            self.wake()

    def later(self, seconds: float, what: Callable[[], None]) -> Due:
        """Do something after so many seconds; called in this thread."""
        due = Due(what)
        heapq.heappush(self._due, (time.monotonic() + seconds, next(self._count), due))
        return due

    def wake(self) -> None:
        """Have the thread look up, and ask whether it is over."""
        if self._wake_fd >= 0:
            with suppress(OSError):
                os.eventfd_write(self._wake_fd, 1)

    def let_go(self) -> None:
        """In a copy of the program, which has no such thread."""
        self._lock = threading.RLock()
        self.thread = None
        if self._poll is not None:
            self._close(self._poll)

    # The thread.

    def _run(self, poll: select.epoll) -> None:
        while not self._is_over():
            for fd, events in poll.poll(self._patience()):
                if events & select.EPOLLOUT:
                    self._write(fd)
                if events & ~select.EPOLLOUT:
                    handler = self._handlers.get(fd)
                    if handler is not None:
                        handler()
            if self._is_soon:
                self._flush_when_due()
            if self._held_off:
                self._look_after_when_due()
            if self._due:
                self._do_due()
        self._on_end()
        self._close(poll)

    def _close(self, poll: select.epoll) -> None:
        with self._lock:
            self._poll = None
            poll.close()
            wake_fd, self._wake_fd = self._wake_fd, -1
            if wake_fd >= 0:
                self._handlers.pop(wake_fd, None)
                os.close(wake_fd)

    def _patience(self) -> float | None:
        if self._soon_at or self._held_off:
            return SOON
        while self._due and self._due[0][2].what is None:
            heapq.heappop(self._due)
        moment = self._due[0][0] if self._due else None
        if self.until is not None:
            moment = self.until if moment is None else min(moment, self.until)
        return None if moment is None else max(0.0, moment - time.monotonic())

    def _flush_when_due(self) -> None:
        now = time.monotonic()
        if not self._soon_at:
            self._soon_at = now + SOON
        elif now >= self._soon_at:
            self._soon_at = 0.0
            self._is_soon = False
            for line in [self._soon.popitem()[0] for _ in range(len(self._soon))]:
                if not line.flush():
                    self.flush_soon(line)

    def _look_after_when_due(self) -> None:
        """Listen again to those whose callers no longer read."""
        now = time.monotonic()
        if not self._look_at:
            self._look_at = now + SOON
        if now < self._look_at:
            return
        self._look_at = 0.0
        if not self._lock.acquire(blocking=False):
            return  # for the same reason as in `Line.flush`
        try:
            for lead, count in list(self._held_off.items()):
                if lead.count != count:
                    self._held_off[lead] = lead.count
                else:
                    del self._held_off[lead]
                    self._listen(lead, is_heard=True)
        finally:
            self._lock.release()

    def _do_due(self) -> None:
        now = time.monotonic()
        while self._due and self._due[0][0] <= now:
            what = heapq.heappop(self._due)[2].what
            try:
                if what is not None:
                    what()
            except Exception as error:  # by a mistake of otpy's own; all children hang on this thread
                log.critical("what was due in the thread of process children has failed", exc_info=error)

    def _write(self, fd: int) -> None:
        line = self._writers.get(fd)
        if line is not None:
            line.flush(lambda: self._stop_writing(fd))

    def _stop_writing(self, fd: int) -> None:
        with self._lock:
            if self._writers.pop(fd, None) is not None and self._poll is not None:
                with suppress(OSError):
                    self._poll.modify(fd, 0 if fd in self._deaf else select.EPOLLIN)

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            os.eventfd_read(self._wake_fd)
