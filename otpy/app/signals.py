"""SIGTERM and SIGINT, by which a program is told to stop; only its main thread can take them."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from otpy.app.application import Application

__all__ = ["STOP_SIGNALS", "is_main_thread", "set_handler", "signals", "stop_handler"]

GRACE = 0.5
"""Seconds after a signal in which another one is the same wish; later it ends the program at once."""

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def signals(system: Application, shutdown: float) -> Iterator[None]:
    """Have SIGTERM and SIGINT ask a program to stop, whoever had them before; elsewhere than in the main thread none.

    Args:
        system: the program.
        shutdown: seconds after which one that is still starting is cut off.
    """
    if not is_main_thread():
        yield
        return
    before: dict[int, Any] = {}
    handler = stop_handler(lambda number: _tell(system, number, shutdown))
    for wanted in STOP_SIGNALS:
        before[wanted] = signal.signal(wanted, handler)
    try:
        yield
    finally:
        for number, old in before.items():
            set_handler(number, old)


def stop_handler(tell: Callable[[int], object]) -> Callable[[int, FrameType | None], None]:
    """A handler of signals that tells of the first one; the second one ends the program at once."""
    owner = os.getpid()
    seen: list[float] = []

    def on_signal(number: int, _: FrameType | None) -> None:
        if seen and time.monotonic() - seen[0] < GRACE:
            return  # some senders signal the process and its group, which is no second wish
        if seen or os.getpid() != owner:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        seen.append(time.monotonic())
        tell(number)

    return on_signal


def is_main_thread() -> bool:
    """Whether this is the only thread that may handle signals."""
    return threading.current_thread() is threading.main_thread()


def set_handler(number: int, handler: Any) -> None:
    """Give a signal back to who had it."""
    with suppress(TypeError):  # a handler that was not set from Python cannot be set back from it
        signal.signal(number, handler)


def _tell(system: Application, number: int, shutdown: float) -> None:
    system.request_stop(signal.Signals(number).name)
    system.timers.after(shutdown, system.end_start)
