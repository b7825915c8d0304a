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

from otpy.core.reason import Exited, NoConnection, NoProc, Reason, Signalled
from otpy.errors import MailboxFullError, NoProcError, SystemStoppedError
from otpy.places.process.codec import Decoder, Encoder, GarbageError, error_of, error_parts
from otpy.places.process.far import receive
from otpy.places.process.helper import ASK, TELL
from otpy.places.process.line import Line, Say
from otpy.places.process.output import Output
from otpy.runtime.links import Monitor, watch
from otpy.runtime.mailbox import poke
from otpy.runtime.named import NamedRef
from otpy.runtime.ref import Ref

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.runtime.seat import Seat
    from otpy.runtime.system import System

__all__ = ["Child", "Ports", "ports_of"]

GRACE = 1.0
"""Seconds in which a process must have ended that has said its last word, or has closed its pipe."""
HALF = 5.0
"""Seconds in which the rest of a message must follow its beginning."""
SOON = 0.001
"""Seconds a cast waits at most for others that go with it."""
LAST = 2.0
"""Seconds the end of a system waits for the ends of its processes."""
READ = 1 << 18
"""Bytes read at once from one child, before the next one has its turn."""


class Child:
    """One process: its pipe, its pidfd, and what it has said of its end.

    It also stands in the `waiting` of its port, where the runtime interrupts it when the port dies, whatever the cause.
    """

    deferred = True
    target = None
    claim = (True,)

    def __init__(
        self,
        ref: Ref[Any],
        on_born: Callable[[Ref[Any], int, Reason | None], None],
        on_end: Callable[[Ref[Any], Reason], None],
    ) -> None:
        """Made in the port's turn; `Ports.start` gives it a process."""
        self.ref = ref
        self.number = 0
        self.pid: int | None = None
        self.pidfd: int | None = None
        self.far, own = socket.socketpair()
        self.path = ref.path
        self.handed: dict[int, Ref[Any]] = {}
        self.decoder = Decoder(self._ref_of, pickles=False)
        self.line = Line(own, Encoder(self._known, pickles=True), on_full=self._watch_writes, on_rest=self._flush_soon)
        self.ports: Ports | None = None
        self.output = -1
        self.told: Reason | None = None
        self.failed: tuple[int, Reason | None] | None = None
        self.is_over = False
        self._on_born = on_born
        self._on_end = on_end
        self._lock = threading.Lock()
        self._is_doomed = False

    @property
    def word(self) -> str:
        """What the inspector says of it."""
        return f"process {self.pid or '(starting)'}"

    def interrupt(self, _: object = None) -> None:
        """End the process at once: its port is dead, or it has not kept to the rules."""
        with self._lock:
            self._is_doomed = True
            if self.pidfd is not None:
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def is_born(self, pid: int, pidfd: int) -> None:
        """The helper has started it."""
        with self._lock:
            self.pid, self.pidfd = pid, pidfd
        if self._is_doomed:
            self.interrupt()

    def read(self) -> None:
        """Hear what it says; in the thread of `Ports`."""
        try:
            data = self.line.socket.recv(READ, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._hang_up()
            return
        try:
            for frame, _ in self.decoder.feed(data):
                self._hear(frame)
        except (GarbageError, LookupError, TypeError, ValueError) as error:
            self.end_as(
                NoConnection(
                    f"it was killed, for {error}"
                    if isinstance(error, GarbageError)
                    else f"it was killed, for it sent what has no meaning ({type(error).__name__})"
                )
            )

        if self.decoder.is_amid and self.ports is not None:
            seen = self.decoder.seen
            self.ports.later(HALF, lambda: self._miss_rest(seen))

    def _miss_rest(self, seen: int) -> None:
        if not self.is_over and self.decoder.seen == seen:
            self.end_as(NoConnection("it was killed, for it sent half a message and no more"))

    def _hang_up(self) -> None:
        assert self.ports is not None  # noqa: S101 - only read once it was started
        self.ports.unwatch(self.line.socket)
        self.ports.later(GRACE, self._is_late)

    def _is_late(self) -> None:
        if not self.is_over:
            self.end_as(self.told or NoConnection("it closed its pipe and lived on, and was killed"))

    def end_as(self, reason: Reason) -> None:
        """End the process for this reason."""
        self.told = self.told or reason
        if self.ports is not None:
            self.ports.unwatch(self.line.socket)
        self.interrupt()

    def _hear(self, frame: list[Any]) -> None:
        match frame:
            case [Say.REPLY, number, value]:
                self.line.answer(number, value)
            case [Say.FAIL, number, name, text, facts]:
                self.line.refuse(number, error_of(name, text, facts))
            case [Say.BORN, 0, None]:
                poke(self.ref, lambda own: self._on_born(own, 0, None))
            case [Say.BORN, int(kind), reason] if reason is None or isinstance(reason, Reason):
                self.failed = (kind, reason)
                self._expect_end()
            case [Say.ENDED, Reason() as reason]:
                self.told = reason
                self._expect_end()
            case [Say.WHEREIS, int(number), str(name)]:
                self.line.say(Say.REPLY, number, self.ref.system.names.get(name))
            case [int(say), int(to), *_] if say <= Say.CALL_WORDS:
                self._pass_on(to, frame)
            case _:
                raise GarbageError(f"it sent a message of kind {frame[0]} that has no meaning")

    def _expect_end(self) -> None:
        assert self.ports is not None  # noqa: S101 - as above
        self.ports.later(GRACE, self._is_late)

    def _pass_on(self, to: int, frame: list[Any]) -> None:
        target = self.handed.get(to)
        if target is None:
            self._nobody(frame)
            return
        with suppress(MailboxFullError):
            if not receive(self.line, target, frame, self._sender):
                raise GarbageError(f"it sent a message of kind {frame[0]} that has no meaning")

    def _nobody(self, frame: list[Any]) -> None:
        """The actor has ended, and the child did not know yet."""
        number = {Say.CALL: 3, Say.CALL_WORDS: 3, Say.ASK: 2}.get(frame[0])
        if number is not None:
            self.line.say(Say.FAIL, frame[number], *error_parts(NoProcError("an actor", "a request", NoProc())))

    def _sender(self, known: object) -> Ref[Any]:
        return known if isinstance(known, Ref) else self.ref

    def _known(self, value: object) -> object:
        """A ref as the child is to know it; from now on it may send to that actor."""
        if value is self.ref:
            return [0, "", "", ""]
        if isinstance(value, NamedRef):
            return [-1, value.name, "", ""]
        if not isinstance(value, Ref):
            return None
        if value.number not in self.handed:
            self.handed[value.number] = value
            watch(_Gone(value, self))
        cls = getattr(value.actor_class, "inside", value.actor_class)
        where = [cls.__module__, cls.__qualname__]
        return [value.number, value.path, *(where if "<" not in where[1] else ["otpy.runtime.actor", "Actor"])]

    def _ref_of(self, known: Any) -> object:
        number, name, *_ = known
        if number == 0:
            return self.ref
        return NamedRef(self.ref.system, str(name)) if number < 0 else self.handed[number]

    def _watch_writes(self) -> None:
        if self.ports is not None:
            self.ports.watch_writes(self)

    def _flush_soon(self) -> None:
        if self.ports is not None:
            self.ports.flush_soon(self)

    def has_ended(self, status: int) -> None:
        """Nothing of its process group is left; in the thread of `Ports`."""
        self.read_rest()
        self.is_over = True
        with self._lock:
            if self.pidfd is not None:
                os.close(self.pidfd)
            self.pidfd = None
        self.line.socket.close()
        if self.ref.reason is not None:
            return
        if self.failed is not None:
            kind, why = self.failed
            poke(self.ref, lambda own: self._on_born(own, kind, why))
            return
        reason = self.told or (Signalled(-code) if (code := os.waitstatus_to_exitcode(status)) < 0 else Exited(code))
        poke(self.ref, lambda own: self._on_end(own, reason))

    def read_rest(self) -> None:
        """Hear its last words."""
        before = None
        while self.told is None and before != self.decoder.seen and self.line.socket.fileno() >= 0:
            before = self.decoder.seen
            self.read()


class _Gone(Monitor):
    """Tells a child of the end of an actor whose ref it has."""

    __slots__ = ("_child",)

    def __init__(self, ref: Ref[Any], child: Child) -> None:
        super().__init__(ref, ref, None)
        self._child = child

    def fire(self, reason: Reason) -> None:
        ref = self.target_ref
        assert ref is not None  # noqa: S101 - made with one
        self._child.handed.pop(ref.number, None)
        if not self._child.is_over:
            self._child.line.say(Say.GONE, ref.number, reason)


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
        if thread is None:
            self._system.threads.discard(self)
            return
        self._wake()
        if thread is not threading.current_thread():
            thread.join(LAST + 1.0)

    def start(self, child: Child) -> None:
        """Give a child its process; returns before that runs.

        Raises:
            SystemStoppedError: the system has ended.
        """
        output, far_output = os.pipe2(os.O_CLOEXEC)
        with self._lock:
            if self._closing is not None:
                raise SystemStoppedError("the system has stopped and starts no process")
            self._ensure_helper()
            assert self._control is not None  # noqa: S101 - the line before has made it
            assert self._poll is not None  # noqa: S101 - the same
            self._numbers += 1
            child.number, child.ports = self._numbers, self
            self._children[child.number] = child
            socket.send_fds(self._control, [ASK.pack(b"F", child.number)], [child.far.fileno(), far_output])
            child.far.close()
            os.close(far_output)
            own = child.line.socket.fileno()
            self._handlers[own] = child.read
            self._poll.register(own, select.EPOLLIN)
            child.output = output
            self._output.add(output, child.path)

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
        child.has_ended(status)
        self._children.pop(child.number, None)
        self._output.end(child.output)
        self._system.pool.notice_idle()

    def _lose_helper(self) -> None:
        """Somebody has killed the helper, and with it all its children: the next start makes a new one."""
        with self._lock:
            lost = list(self._children.values())
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
