"""An actor that does in its own turn whatever a test hands it, and keeps a log the test can read."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

import otpy

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BOOM", "AsyncDoer", "Doer", "flush"]

BOOM = otpy.Exit("boom")

Deed = "Callable[..., Any]"


class Doer(otpy.GenServer):
    """`ref.call(Doer.do, deed)` and `ref.cast(Doer.run, deed)` call `deed(self, …)`; messages go into `log`."""

    def init(self, log: list[Any] | None = None, *, traps: bool = False, deed: Callable[..., Any] | None = None) -> Any:
        self.log = [] if log is None else log
        self.trap_exit = traps
        return deed(self) if deed is not None else None

    @otpy.call
    def do(self, deed: Callable[..., Any], *args: Any) -> Any:
        return deed(self, *args)

    @otpy.cast
    def run(self, deed: Callable[..., Any], *args: Any) -> Any:
        return deed(self, *args)

    @otpy.call
    def read(self) -> list[Any]:
        """A copy of the log; answered after all that was sent before."""
        return list(self.log)

    def handle_call(self, request: Any, caller: otpy.Caller) -> Any:
        return request(self, caller) if callable(request) else request

    def handle_info(self, message: Any) -> Any:
        self.log.append(message)

    def handle_continue(self, term: Any) -> Any:
        self.log.append(("continue", term))
        return term(self) if callable(term) else None

    def handle_timeout(self) -> Any:
        self.log.append("timeout")

    def terminate(self, reason: otpy.Reason) -> None:
        self.log.append(("terminate", reason))


def flush(ref: otpy.Ref[Doer]) -> list[Any]:
    """What the actor has logged, once it has handled all that was sent before."""
    return ref.call(Doer.read)


class AsyncDoer(Doer):
    """A doer on the loop: its deeds may be coroutine functions, and so each of its callbacks."""

    async def init(self, log: list[Any] | None = None, *, traps: bool = False, deed: Any = None) -> Any:
        self.log = [] if log is None else log
        self.trap_exit = traps
        return await _done(deed(self)) if deed is not None else None

    @otpy.call
    async def do(self, deed: Callable[..., Any], *args: Any) -> Any:
        return await _done(deed(self, *args))

    @otpy.cast
    async def run(self, deed: Callable[..., Any], *args: Any) -> Any:
        return await _done(deed(self, *args))

    async def handle_call(self, request: Any, caller: otpy.Caller) -> Any:
        return await _done(request(self, caller)) if callable(request) else request

    async def handle_continue(self, term: Any) -> Any:
        self.log.append(("continue", term))
        return await _done(term(self)) if callable(term) else None

    async def handle_info(self, message: Any) -> Any:
        await asyncio.sleep(0)
        self.log.append(message)

    async def handle_timeout(self) -> Any:
        await asyncio.sleep(0)
        self.log.append("timeout")

    async def terminate(self, reason: otpy.Reason) -> None:
        await asyncio.sleep(0)
        self.log.append(("terminate", reason))


async def _done(result: Any) -> Any:
    """The result of a deed, which may be a coroutine."""
    return await result if inspect.isawaitable(result) else result
