"""The parent's end of the helper: have it start a child, or end one, and hear what it tells."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from otpy.places.process.helper import ASK, TELL
from otpy.places.process.origin import search_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.places.process.listener import Listener

__all__ = ["Helm"]

EARLY = ("otpy.front", "asyncio", "otpy.places.loop", "subprocess")
"""What the helper imports once, before all forks, when this program has it: its children are likely to need it, too.

What can be killed often runs other programs."""

PATIENCE = 0.5
"""Seconds in which it must have ended that was let go of; it has only to kill what is left."""


class Helm:
    """One helper at a time; another one is made when it was killed."""

    def __init__(
        self, listener: Listener, on_news: Callable[[bytes, int, int, int | None], None], on_loss: Callable[[], None]
    ) -> None:
        """`on_news` is called with each thing it tells, `on_loss` when somebody has killed it."""
        self._listener = listener
        self._on_news = on_news
        self._on_loss = on_loss
        # Guards `_control`: nobody sends to a descriptor that was closed, and may be another's by now. All else is
        # guarded by the lock of `Ports`.
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def fork(self, number: int, fds: list[int]) -> None:
        """Have a child started, with its pipe and its output. Raises OSError."""
        self._start()
        with self._lock:
            if self._control is None:
                raise OSError("the helper that starts processes was killed at this moment")
            socket.send_fds(self._control, [ASK.pack(b"F", number)], fds)

    def ask(self, word: bytes, number: int) -> None:
        """Have the group of a child told to wind up, `T`, or killed, `K`; from any thread."""
        with self._lock, suppress(OSError):
            if self._control is not None:
                self._control.send(ASK.pack(word, number))

    def _start(self) -> None:
        if self._process is not None:
            return
        control, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with far:
            with self._lock:
                self._control = control
            try:
                self._listener.watch(control.fileno(), self._hear)
                self._process = _spawn(far.fileno())
            except BaseException:
                self.close()
                raise

    def _hear(self) -> None:
        control = self._control
        if control is None:
            return
        try:
            data, fds, _, _ = socket.recv_fds(control, TELL.size, 1)
        except OSError:
            data, fds = b"", []
        if len(data) < TELL.size:
            self._on_loss()
            return
        word, number, value = TELL.unpack(data)
        self._on_news(word, number, value, fds[0] if fds else None)

    def let_go(self) -> None:
        """In a copy of the program: the helper is another's child."""
        self._lock = threading.Lock()
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            self._process.returncode = 0  # nobody here may wait for it

    def close(self) -> None:
        """Let go of it: it ends, and with it whatever is left of its children."""
        with self._lock:
            control, self._control = self._control, None
        process, self._process = self._process, None
        if control is not None:
            self._listener.unwatch(control.fileno())
            control.close()
        if process is not None:
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:  # somebody has stopped it: its children end with it
                process.kill()
                process.wait()


def _spawn(far: int) -> subprocess.Popen[bytes]:
    early = "".join(f"import {name}; " for name in EARLY if name in sys.modules)
    code = f"import sys; sys.path[:] = {search_path()!r}; {early}from otpy.places.process.helper import main; main()"
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # noqa: SLF001 - as multiprocessing
    return subprocess.Popen(  # noqa: S603 - our own interpreter and code
        [sys.executable, *flags, "-c", code, str(far)],
        pass_fds=[far],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",  # the program's may be gone, and there 3.13.0 cannot import socket; children go to it themselves
    )
