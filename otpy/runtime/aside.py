"""What blocks, done on a thread of its own, so that a coroutine may wait for it."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from otpy.core.late import asyncio

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["aside"]

R = TypeVar("R")


def aside(function: Callable[[], R]) -> asyncio.Future[R]:
    """Call a function on a new thread; the future has its result. Who is cancelled while it waits ends nothing of it.

    Not by the loop's executor, whose threads may all be taken. Raises RuntimeError when no thread can be had.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[R] = loop.create_future()

    def work() -> None:
        try:
            result = function()
        except BaseException as error:
            tell(future.set_exception, error)
        else:
            tell(future.set_result, result)

    def tell(outcome: Callable[[Any], None], value: object) -> None:
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(lambda: None if future.done() else outcome(value))

    threading.Thread(target=work, name="otpy-aside", daemon=True).start()
    return future
