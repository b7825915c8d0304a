"""Two ways to wait, one for actors that block and one for those on the event loop, so that one text serves both."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

import otpy
from otpy.runtime.seat import here

if TYPE_CHECKING:
    from collections.abc import Coroutine

__all__ = ["AWAITING", "BLOCKING", "Ways", "done"]


class Ways(Protocol):
    """How to wait."""

    async def nap(self, seconds: float) -> None: ...
    async def call(self, target: Any, request: Any, *args: Any) -> Any: ...
    async def stop(self, ref: otpy.Ref[Any], **options: Any) -> Any: ...
    async def down(self, monitor: otpy.Monitor, timeout: float) -> otpy.Down: ...
    async def start(self, actor: Any, spec: otpy.ChildSpec) -> otpy.Ref[Any]: ...
    async def get(self, future: Any, timeout: float) -> Any: ...


class _Blocking:
    """Each waits at once, so a coroutine that uses nothing else is done with its first step."""

    async def nap(self, seconds: float) -> None:
        otpy.sleep(seconds)

    async def call(self, target: Any, request: Any, *args: Any) -> Any:
        return target.call(request, *args)

    async def stop(self, ref: otpy.Ref[Any], **options: Any) -> Any:
        return ref.stop(**options)

    async def down(self, monitor: otpy.Monitor, timeout: float) -> otpy.Down:
        return monitor.wait(timeout)

    async def start(self, actor: Any, spec: otpy.ChildSpec) -> otpy.Ref[Any]:
        ref: otpy.Ref[Any] = actor.spawn_link(spec)
        return ref

    async def get(self, future: Any, timeout: float) -> Any:
        return future.get(timeout=timeout)


class _Awaiting:
    """Each lets others of the event loop go on."""

    async def nap(self, seconds: float) -> None:
        """By otpy's sleep or by asyncio's."""
        ref = here().ref
        if ref is None or ref.system.random.random() < 0.5:
            await asyncio.sleep(seconds)
        else:
            await otpy.asleep(seconds)

    async def call(self, target: Any, request: Any, *args: Any) -> Any:
        return await target.acall(request, *args)

    async def stop(self, ref: otpy.Ref[Any], **options: Any) -> Any:
        return await ref.astop(**options)

    async def down(self, monitor: otpy.Monitor, timeout: float) -> otpy.Down:
        return await monitor.await_down(timeout)

    async def start(self, actor: Any, spec: otpy.ChildSpec) -> otpy.Ref[Any]:
        ref: otpy.Ref[Any] = await actor.aspawn_link(spec)
        return ref

    async def get(self, future: Any, timeout: float) -> Any:
        return await asyncio.wait_for(future, timeout)


BLOCKING: Ways = _Blocking()
AWAITING: Ways = _Awaiting()


def done(work: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that waits only in the blocking way."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError(f"{work} awaited something")
