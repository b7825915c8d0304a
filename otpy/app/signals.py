"""The signals by which a program is told to stop, and how often; only its main thread can take them."""

from __future__ import annotations

import atexit
import faulthandler
import math
import os
import signal
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from otpy.core.exit_codes import ExitCode
from otpy.runtime.systems import all_systems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from otpy.app.application import Application

__all__ = ["STOP_SIGNALS", "give_back", "handler_of", "is_main_thread", "set_handler", "signals", "stop_handler"]

GRACE = 1.0
"""Seconds after a signal in which another one is the same wish: process managers send it twice."""

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)


@contextmanager
def signals(system: Application) -> Iterator[None]:
    """Have signals ask a program to stop, whoever had them before; elsewhere than in the main thread none."""
    if not is_main_thread():
        yield
        return
    before: dict[int, Any] = {}
    heard: list[float] = []
    handler = stop_handler(system.hear_signal, heard)
    for wanted in STOP_SIGNALS:
        before[wanted] = handler_of(wanted)
        signal.signal(wanted, handler)
    try:
        yield
    finally:
        for number, old in before.items():
            give_back(number, old, heard)


def stop_handler(tell: Callable[[int, int], object], heard: list[float]) -> Callable[[int, FrameType | None], None]:
    """A handler that tells of each wish by its signal and its number, and ends the program itself at the third.

    The first one asks it to drain and stop, the second one to drain no longer. SIGQUIT shows where all threads are, and
    is the second one at once. `heard` takes when each wish has come.
    """
    owner = os.getpid()

    def on_signal(number: int, _: FrameType | None) -> None:
        if os.getpid() != owner:  # of a copy of this program, which has nothing to stop
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        if number == signal.SIGQUIT:
            _show_stacks()
        if _is_same_wish(heard):
            return
        if number == signal.SIGQUIT and not heard:
            heard.append(-math.inf)
        heard.append(time.monotonic())
        if len(heard) > 2:  # noqa: PLR2004 - it was asked twice
            _end_now()
        tell(number, len(heard))

    return on_signal


def handler_of(number: int) -> Any:  # Any: what `signal` takes
    """Who has a signal, or had it before a block was left a moment ago."""
    handler = signal.getsignal(number)
    return handler.before if isinstance(handler, _Echo) else handler


def give_back(number: int, before: Any, heard: list[float]) -> None:
    """Give a signal back to who had it: at once, or when the last wish can no longer be sent twice.

    Most programs drain in less time than that, and end; the double would take their exit code from them.
    """
    if not _is_same_wish(heard):
        set_handler(number, before)
        return
    echo = _Echo(before, heard)
    set_handler(number, echo)
    atexit.register(echo.close, number)


class _Echo:
    """Takes a signal after the block: one of the same wish is nobody's, the next one is as before."""

    def __init__(self, before: Any, heard: list[float]) -> None:
        self.before = before
        self._heard = heard

    def close(self, number: int) -> None:
        """The interpreter ends, which would give the signal its default back, before the program does."""
        handler: object = signal.getsignal(number)
        if handler is self and is_main_thread() and _is_same_wish(self._heard):
            signal.signal(number, signal.SIG_IGN)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if _is_same_wish(self._heard):
            return
        set_handler(number, self.before)
        if callable(self.before):
            self.before(number, frame)
        elif self.before == signal.SIG_DFL:
            os.kill(os.getpid(), number)


def _is_same_wish(heard: list[float]) -> bool:
    return bool(heard) and time.monotonic() - heard[-1] < GRACE


def is_main_thread() -> bool:
    """Whether this is the only thread that may handle signals."""
    return threading.current_thread() is threading.main_thread()


def set_handler(number: int, handler: Any) -> None:
    """Give a signal back to who had it."""
    with suppress(TypeError):  # a handler that was not set from Python cannot be set back from it
        signal.signal(number, handler)


def _show_stacks() -> None:
    with suppress(Exception):  # there may be no standard error
        faulthandler.dump_traceback(file=sys.__stderr__ or 2, all_threads=True)


def _end_now() -> None:
    """End without another word; what runs in processes of its own goes first, with all that these have started."""
    for system in all_systems():
        for beyond in list(system.beyonds.values()):
            beyond.end_now()
    os._exit(ExitCode.KILLED)
