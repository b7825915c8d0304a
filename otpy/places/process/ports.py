"""The parent's end: one thread reads the pipes of all process children of a system, and hears how each ended."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from otpy.core.reason import NoConnection, Reason
from otpy.errors import SystemStoppedError
from otpy.places.process.helper import ASK, TELL
from otpy.places.process.line import Say
from otpy.places.process.output import Output
from otpy.places.process.process import Child

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.runtime.ref import Ref
    from otpy.runtime.seat import Seat
    from otpy.runtime.system import System

__all__ = ["Ports", "ports_of"]

SPARES = 4
"""Modules for which a process is kept ready."""
SOON = 0.001
"""Seconds a cast waits at most for others that go with it."""
LAST = 2.0
"""Seconds the end of a system waits for the ends of its processes."""


class Ports:
    """All process children of one system, their helper, and the thread that listens to them.

    The system lists it among the homes of actors with threads of their own, and so closes it in the end.
    """

    place = "process"
    settle = None

    def __init__(self, system: System) -> None:
        """Start nothing yet."""
        self.queue: deque[Any] = deque()
        self.free: list[Any] = []
        self._system = system
        self._lock = threading.RLock()
        self._children: dict[int, Child] = {}
        self._handlers: dict[int, Callable[[], None]] = {}
        self._writers: dict[int, Child] = {}
        self._due: list[tuple[float, Callable[[], None]]] = []
        self._numbers = 0
        self._spares: dict[str, Child] = {}
        self._soon: dict[Child, None] = {}
        self._soon_at = 0.0
        self._is_soon = False
        self._helper: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._poll: select.epoll | None = None
        self._wake_fd = -1
        self._thread: threading.Thread | None = None
        self._output = Output()
        self._closing: float | None = None

    # As a home of the system.

    def is_idle(self) -> bool:
        """Whether no child is asked anything."""
        return not any(child.line.is_asked() for child in list(self._children.values()))

    def engage(self) -> bool:
        """Nobody takes turns here."""
        return True

    def seats(self) -> list[Seat]:
        """No code of an actor runs here."""
        return []

    def turns(self) -> int:
        """The same."""
        return 0

    def release(self) -> None:
        """Nobody lives here."""

    def close(self) -> None:
        """End all processes that are left, the helper and the threads; waits a moment for it."""
        with self._lock:
            self._closing = self._closing or time.monotonic() + LAST
            thread = self._thread
            spares = list(self._spares.values())
        for spare in spares:
            spare.interrupt()
        if thread is None:
            self._system.threads.discard(self)
            return
        self._wake()
        if thread is not threading.current_thread():
            thread.join(LAST + 1.0)

    def start(
        self,
        home: tuple[str, tuple[object, ...]],
        ref: Ref[Any],
        on_born: Callable[[Ref[Any], int, Reason | None], None],
        on_end: Callable[[Ref[Any], Reason], None],
    ) -> Child:
        """A process for a port: a spare one that has imported the module already, or a new one.

        Raises:
            SystemStoppedError: the system has ended.
        """
        with self._lock:
            if self._closing is not None:
                raise SystemStoppedError("the system has stopped and starts no process")
            child = self._spares.pop(home[0], None) or self._fork(home)
            child.bind(ref, on_born, on_end)  # with the lock held: it may end at any moment
            self._output.name(child.output, child.path)
        return child

    def add_spare(self, home: tuple[str, tuple[object, ...]]) -> None:
        """Have another process ready that has imported the module of one that was started."""
        with self._lock:
            if self._closing is None and home[0] not in self._spares and len(self._spares) < SPARES:
                child = self._spares[home[0]] = self._fork(home)
                child.line.say(Say.PRELOAD, *home)

    def _fork(self, home: tuple[str, tuple[object, ...]]) -> Child:
        """Ask for a new process; it may be spoken to at once. Called with the lock held."""
        output, far_output = os.pipe2(os.O_CLOEXEC)
        try:
            self._ensure_helper()
            assert self._control is not None  # noqa: S101 - the line before has made it
            assert self._poll is not None  # noqa: S101 - the same
            self._numbers += 1
            child = Child(self._numbers, self, home)
            self._children[child.number] = child
            socket.send_fds(self._control, [ASK.pack(b"F", child.number)], [child.far.fileno(), far_output])
            child.far.close()
            own = child.line.socket.fileno()
            self._handlers[own] = child.read
            self._poll.register(own, select.EPOLLIN)
        except BaseException:
            os.close(output)
            raise
        finally:
            os.close(far_output)
        child.output = output
        self._output.add(output, child.path)
        return child

    def _ensure_helper(self) -> None:
        if self._helper is not None:
            return
        poll = self._ensure_thread()
        self._control, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._handlers[self._control.fileno()] = self._hear_helper
        poll.register(self._control.fileno(), select.EPOLLIN)
        code = f"import sys; sys.path[:] = {sys.path!r}; from otpy.places.process.helper import main; main()"
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # noqa: SLF001 - as multiprocessing
        self._helper = subprocess.Popen(  # noqa: S603 - our own interpreter and code
            [sys.executable, *flags, "-c", code, str(far.fileno())],
            pass_fds=[far.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        far.close()

    def _ensure_thread(self) -> select.epoll:
        if self._poll is None:
            self._poll = select.epoll()
            self._wake_fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
            self._handlers[self._wake_fd] = self._drain
            self._poll.register(self._wake_fd, select.EPOLLIN)
            self._system.threads.add(self)
            self._thread = threading.Thread(target=self._run, name="otpy-ports", daemon=True)
            self._thread.start()
        return self._poll

    # For children.

    def unwatch(self, sock: socket.socket) -> None:
        """Listen to this pipe no longer."""
        fd = sock.fileno()
        with self._lock:
            if self._handlers.pop(fd, None) is not None and self._poll is not None:
                with suppress(OSError):
                    self._poll.unregister(fd)
            self._writers.pop(fd, None)

    def watch_writes(self, child: Child) -> None:
        """A pipe is full: go on when it has room again."""
        fd = child.line.socket.fileno()
        with self._lock:
            if fd in self._handlers and fd not in self._writers and self._poll is not None:
                self._writers[fd] = child
                self._poll.modify(fd, select.EPOLLIN | select.EPOLLOUT)

    def flush_soon(self, child: Child) -> None:
        """Write what it was sent, unless that is done by who sends more."""
        self._soon[child] = None
        if not self._is_soon:  # added, then looked; the thread says that it is about to look, then looks
            self._is_soon = True
            self._wake()

    def later(self, seconds: float, what: Callable[[], None]) -> None:
        """Do something after so many seconds; called in this thread."""
        self._due.append((time.monotonic() + seconds, what))

    # The thread.

    def _run(self) -> None:
        assert self._poll is not None  # noqa: S101 - made before the thread
        while not self._is_over():
            for fd, events in self._poll.poll(self._patience()):
                if events & select.EPOLLOUT:
                    self._write(fd)
                if events & ~select.EPOLLOUT:
                    handler = self._handlers.get(fd)
                    if handler is not None:
                        handler()
            if self._is_soon:
                self._flush_when_due()
            if self._due:
                self._do_due()
        self._end()

    def _is_over(self) -> bool:
        if self._closing is None:
            return False
        return not self._children or time.monotonic() > self._closing

    def _flush_when_due(self) -> None:
        now = time.monotonic()
        if not self._soon_at:
            self._soon_at = now + SOON
        elif now >= self._soon_at:
            self._soon_at = 0.0
            self._is_soon = False
            while self._soon:
                self._soon.popitem()[0].line.flush()

    def _patience(self) -> float | None:
        if self._soon_at:
            return SOON
        moments = [moment for moment, _ in self._due]
        if self._closing is not None:
            moments.append(self._closing)
        return max(0.0, min(moments) - time.monotonic()) if moments else None

    def _do_due(self) -> None:
        now = time.monotonic()
        due = [what for moment, what in self._due if moment <= now]
        self._due = [one for one in self._due if one[0] > now]
        for what in due:
            what()

    def _write(self, fd: int) -> None:
        child = self._writers.get(fd)
        if child is not None:
            child.line.flush(lambda: self._stop_writing(fd))

    def _stop_writing(self, fd: int) -> None:
        with self._lock:  # always after the lock of a line, never before it
            if self._writers.pop(fd, None) is not None and self._poll is not None:
                with suppress(OSError):
                    self._poll.modify(fd, select.EPOLLIN)

    def _wake(self) -> None:
        if self._wake_fd >= 0:
            with suppress(OSError):
                os.eventfd_write(self._wake_fd, 1)

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            os.eventfd_read(self._wake_fd)

    def _hear_helper(self) -> None:
        assert self._control is not None  # noqa: S101 - it is watched
        try:
            data, fds, _, _ = socket.recv_fds(self._control, TELL.size, 1)
        except OSError:
            data, fds = b"", []
        if len(data) < TELL.size:
            self._lose_helper()
            return
        word, number, value = TELL.unpack(data)
        child = self._children.get(number)
        if word == b"B" and child is not None:
            child.is_born(value, fds[0])
        elif word == b"E" and child is not None:
            self._forget(child, value)

    def _forget(self, child: Child, status: int) -> None:
        with self._lock:
            if self._spares.get(child.home[0]) is child:
                del self._spares[child.home[0]]
            self._children.pop(child.number, None)
        child.has_ended(status)
        self._output.end(child.output)
        self._system.pool.notice_idle()

    def _lose_helper(self) -> None:
        """Somebody has killed the helper, and with it all its children: the next start makes a new one."""
        with self._lock:
            lost = list(self._children.values())
            self._spares.clear()  # at once: nobody may be given one of them now
            self._close_helper()
        for child in lost:
            child.told = child.told or NoConnection(
                "the helper that starts processes was killed, and its children with it"
            )
            self.unwatch(child.line.socket)
            child.interrupt()
            self._forget(child, 0)

    def _close_helper(self) -> None:
        helper, self._helper = self._helper, None
        if self._control is not None:
            with suppress(OSError, KeyError):
                self._handlers.pop(self._control.fileno(), None)
            self._control.close()
        if helper is not None:
            helper.wait()

    def _end(self) -> None:
        with self._lock:
            for child in list(self._children.values()):
                child.interrupt()
            self._close_helper()  # which kills whatever is left
            for child in list(self._children.values()):
                self.unwatch(child.line.socket)
                self._forget(child, signal.SIGKILL)
            if self._poll is not None:
                self._poll.close()
            os.close(self._wake_fd)
            self._wake_fd = -1
        self._output.close()
        self._system.threads.discard(self)
        self._system.pool.notice_idle()


_PORTS: weakref.WeakKeyDictionary[System, Ports] = weakref.WeakKeyDictionary()
_GUARD = threading.Lock()


def ports_of(system: System) -> Ports:
    """The ports of a system, made on first use."""
    with _GUARD:
        found = _PORTS.get(system)
        if found is None:
            found = _PORTS[system] = Ports(system)
        return found
