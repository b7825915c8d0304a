"""One end of a pipe, in whose middle the handler of a signal sends, or raises: at each line in turn."""

from __future__ import annotations

import linecache
import signal
import socket
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from otpy.places.process.codec import Decoder, Encoder
from otpy.places.process.line import Line

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 60
"""More lines than any of these sends has."""
BIG = "x" * 500_000
"""More than a pipe holds."""


class Interrupted(Exception):
    """What the handler of a signal raises."""


class Hearer:
    """A thread that reads the other end; what it has heard is there when that was closed."""

    def __init__(self, sock: socket.socket) -> None:
        self.heard: list[Any] = []
        self._sock = sock
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        decoder = Decoder(lambda known: known, pickles=False)
        with self._sock:
            while data := self._sock.recv(1 << 16):
                self.heard.extend(frame[1] for frame, _ in decoder.feed(data))
        assert not decoder.is_amid

    def join(self) -> list[Any]:
        self._thread.join()
        return self.heard


def at_line(number: int, deed: Callable[[], None]) -> Callable[..., Any]:
    """A trace function that does this before so many lines of the file of lines have run."""
    left = number

    def trace(frame: Any, event: str, _: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename != sys.modules[Line.__module__].__file__:
            return None
        # No signal is handled between an assignment and this: it is what that place leans on.
        if event == "line" and "del backlog" not in linecache.getline(frame.f_code.co_filename, frame.f_lineno):
            left -= 1
            if left == 0:
                deed()
        return trace

    return trace


@pytest.mark.parametrize("deed", ["send", "raise"])
@pytest.mark.parametrize("is_parent", [True, False], ids=["parent", "child"])
def test_a_signal_in_the_middle_of_a_send_breaks_no_message(deed: str, *, is_parent: bool) -> None:
    own, far = socket.socketpair()
    hearer = Hearer(far)
    options: dict[str, Any] = {"on_full": lambda: None, "on_rest": lambda: None}
    line = Line(own, Encoder(lambda _: None, pickles=False), **(options if is_parent else {}))

    def interrupt() -> None:
        if deed == "send":
            line.send([8, "signal"], may_wait=True)
        elif sys.exception() is None:  # where one leaves an `except`, CPython would believe it handled ever after
            raise Interrupted

    before = sys.gettrace()
    for step in range(STEPS):
        for message in ("small", BIG):
            sys.settrace(at_line(step, interrupt))
            try:
                with suppress(Interrupted):
                    line.send([8, message], may_wait=message == "small")
            finally:
                sys.settrace(before)
            while not line.flush() or line._backlog:
                pass
    line.send([8, "last"])
    own.close()
    heard = hearer.join()
    assert heard[-1] == "last"
    assert set(heard) <= {"small", BIG, "signal", "last"}
    assert deed == "raise" or (heard.count("small"), heard.count(BIG)) == (STEPS, STEPS)


@pytest.mark.parametrize("deed", ["send", "raise"])
def test_a_signal_while_a_childs_pipe_is_full_breaks_no_message(deed: str) -> None:
    """There the kernel has taken a part of it, and the handler runs in the middle of the system call."""
    own, far = socket.socketpair()
    hearer = Hearer(far)
    line = Line(own, Encoder(lambda _: None, pickles=False))
    is_over = threading.Event()
    main = threading.get_ident()

    def handle(*_: object) -> None:
        if deed == "raise":
            raise Interrupted
        line.send([8, "signal"])

    def disturb() -> None:
        while not is_over.is_set():
            signal.pthread_kill(main, signal.SIGUSR1)
            is_over.wait(0.0005)

    before = signal.signal(signal.SIGUSR1, handle)
    thread = threading.Thread(target=disturb)
    try:
        with suppress(Interrupted):
            thread.start()
        for _ in range(30):
            with suppress(Interrupted):
                line.send([8, BIG])
    finally:
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        is_over.set()
        thread.join()
        signal.signal(signal.SIGUSR1, before)
    line.send([8, "last"])
    own.close()
    heard = hearer.join()
    assert heard[-1] == "last"
    assert set(heard) <= {BIG, "signal", "last"}
    assert deed == "raise" or heard.count(BIG) == 30
