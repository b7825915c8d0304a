"""Any function as a child: it runs once, and its actor ends when it returns. Elixir: Task."""

from __future__ import annotations

import inspect
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from otpy.core.decision import Continue, Stop
from otpy.core.late import asyncio
from otpy.errors import DrainingError
from otpy.runtime.actor import Actor
from otpy.runtime.draining import draining_of
from otpy.runtime.nap import checkpoint
from otpy.runtime.spawn import ADAPTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from otpy.core.reason import Reason

__all__ = ["CoroutineActor", "FunctionActor", "is_coroutine_function"]


class _Once(Actor):
    """What both kinds of functions have in common: the function, its name, and that it handles no messages."""

    stops_by_signal: ClassVar[bool] = True

    def boot(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """Take the function; it runs when the starter was released."""
        self._function: Callable[..., Any] = args[0]
        self._args, self._kwargs = args[1:], kwargs
        return Continue()

    @property
    def otpy_kind(self) -> str:
        """The function's name, for the tree."""
        return str(getattr(self._function, "__qualname__", type(self._function).__name__))

    def terminate(self, reason: Reason) -> None:
        """Nothing to do: a function cleans up after itself."""


class FunctionActor(_Once):
    """Runs one function on a thread of its own; a coroutine that it returns runs there, too, under `asyncio.run`.

    Its start is done before the function begins. It ends `Normal` when the function returns. Told to stop, it leaves
    the function at the next `otpy.sleep` or `otpy.checkpoint`, a coroutine at its next `await`; one that does neither
    is killed when its `shutdown` time is over, and its thread goes on as a zombie.
    """

    place: ClassVar[str] = "thread"
    otpy_may_loop: ClassVar[bool] = False

    def handle_continue(self, _: object) -> object:
        """Run the function."""
        self.ref.current = "run"
        try:
            result = self._function(*self._args, **self._kwargs)
            if inspect.iscoroutine(result):
                asyncio.run(self._guard(result))
        except DrainingError:
            if draining_of(self.system, self.ref) is None:
                raise
        checkpoint()
        return Stop()

    async def _guard(self, work: Coroutine[Any, Any, object]) -> None:
        """Run the coroutine so that an exit signal cancels it."""
        task = asyncio.ensure_future(work)
        self.ref.waiting = _Running(asyncio.get_running_loop(), task)
        try:
            checkpoint()
            await task
        except asyncio.CancelledError:
            checkpoint()
            raise
        finally:
            self.ref.waiting = None


class CoroutineActor(_Once):
    """Runs one coroutine function on the system's event loop.

    As `FunctionActor`; told to stop, the coroutine is cancelled where it awaits something. One that swallows its
    cancellation is killed when its `shutdown` time is over, and goes on as a zombie.
    """

    place: ClassVar[str] = "loop"

    async def handle_continue(self, _: object) -> object:
        """Run the function."""
        self.ref.current = "run"
        try:
            await self._function(*self._args, **self._kwargs)
        except DrainingError:
            if draining_of(self.system, self.ref) is None:
                raise
        checkpoint()
        return Stop()


class _Running:
    """A coroutine that an exit signal cancels; no circle of calls leads through it."""

    deferred = True
    target = None
    claim = (True,)
    word = "await"

    def __init__(self, loop: asyncio.AbstractEventLoop, task: asyncio.Future[object]) -> None:
        self._loop = loop
        self._task = task

    def interrupt(self, reason: Reason) -> None:  # noqa: ARG002 - the same for every reason
        with suppress(RuntimeError):  # it has just ended, and closed its loop
            self._loop.call_soon_threadsafe(self._task.cancel)


def _adapt(start: Callable[..., Any]) -> type[Actor] | None:
    if isinstance(start, type) or not callable(start):
        return None
    return CoroutineActor if is_coroutine_function(start) else FunctionActor


def is_coroutine_function(start: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine, as far as can be told."""
    while isinstance(start, partial):
        start = start.func
    return inspect.iscoroutinefunction(start) or inspect.iscoroutinefunction(type(start).__call__)


ADAPTERS.append(_adapt)
