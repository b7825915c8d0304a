"""SIGTERM and SIGINT for programs of asyncio, in which others may have taken them already."""

from __future__ import annotations

import signal
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from otpy.app.signals import STOP_SIGNALS, give_back, handler_of, is_main_thread, stop_handler
from otpy.core.late import asyncio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otpy.app.body import Body

__all__ = ["loop_signals"]


class _Taken:
    """The signals that the blocks of this program have taken; the first block takes them, the last one gives them back.

    The only thing of otpy's that belongs to the whole program, as the signals themselves do.
    """

    def __init__(self) -> None:
        self.listeners: list[Callable[[int, int], None]] = []
        self.before: dict[int, Any] = {}
        self.heard: list[float] = []

    def take(self, loop: asyncio.AbstractEventLoop) -> None:
        self.heard = []
        handler = stop_handler(self.tell, self.heard)
        self.before = {number: handler_of(number) for number in STOP_SIGNALS}
        self.before = {number: before for number, before in self.before.items() if _is_free(before)}
        for number in self.before:
            # By the loop, so that it wakes up for them; the handler itself works also while the loop is blocked.
            with suppress(NotImplementedError):
                loop.add_signal_handler(number, _nothing)
            signal.signal(number, handler)

    def give_back(self, loop: asyncio.AbstractEventLoop) -> None:
        for number, before in self.before.items():
            with suppress(NotImplementedError):
                loop.remove_signal_handler(number)
            give_back(number, before, self.heard)
        self.before = {}

    def tell(self, number: int, wish: int) -> None:
        for listener in self.listeners.copy():
            listener(number, wish)


_taken = _Taken()


@contextmanager
def loop_signals(body: Body) -> Iterator[None]:
    """Have SIGTERM and SIGINT ask a program to stop; not those for which it has a handler of its own already.

    Args:
        body: of the block that takes them.
    """
    if not is_main_thread():
        yield
        return

    def listen(number: int, wish: int) -> None:
        before = _taken.before.get(number)
        body.cancel_all = partial(before, number, None) if before and _is_of_asyncio(before) else None
        body.system.hear_signal(number, wish)

    if not _taken.listeners:
        _taken.take(body.loop)
    _taken.listeners.append(listen)
    try:
        yield
    finally:
        _taken.listeners.remove(listen)
        if not _taken.listeners:
            _taken.give_back(body.loop)


def _is_free(handler: object) -> bool:
    """Whether a signal does what it does in any program: its default, or what `asyncio.run` makes of it."""
    plain = (signal.SIG_DFL, signal.SIG_IGN, signal.default_int_handler)
    return any(handler is one for one in plain) or _is_of_asyncio(handler)


def _is_of_asyncio(handler: object) -> bool:
    """Whether it is that of `asyncio.run` or `asyncio.Runner`, which cancels the main task."""
    return isinstance(handler, partial) and isinstance(getattr(handler.func, "__self__", None), asyncio.Runner)


def _nothing() -> None: ...
