"""The only import of pykka: what otpy's actors and refs are to pykka's users, and where pykka's own ways are not taken.

pykka's `__init__` (2.6 KiB an actor), its `start` (a global list with slow removal) and its loop (one SystemExit stops
every actor of the program) are never used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pykka import Actor as PykkaActor
from pykka import ActorProxy, ThreadingActor, ThreadingFuture
from pykka import ActorRef as PykkaRef
from pykka import messages as _messages
from pykka._introspection import get_attr_directly

from otpy.runtime.awaited import AwaitedSlot
from otpy.runtime.nap import Nap
from otpy.runtime.seat import Seat, here

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = [
    "ActorProxy",
    "Future",
    "PykkaActor",
    "PykkaRef",
    "ThreadingActor",
    "ThreadingFuture",
    "is_stop",
    "is_wrapped",
    "unwrap",
]

T = TypeVar("T")

_PROXY = (_messages.ProxyCall, _messages.ProxyGetAttr, _messages.ProxySetAttr)


class Future(ThreadingFuture[T]):
    """pykka's future. An actor of a pool waits for it inside otpy: others get its worker, and a kill ends the wait."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        super().__init__()
        self._naps: list[Nap | AwaitedSlot] = []

    def get(self, *, timeout: float | None = None) -> Any:
        """As pykka's; seconds on the system's clock when an actor of a pool waits."""
        seat = here()
        if not self._is_set():
            seat.may_block()
            if seat.pool is not None:
                self._wait_inside(seat, timeout)
                timeout = 0.0  # it is there, or the time is over
        return super().get(timeout=timeout)

    def __await__(self) -> Generator[Any, Any, Any]:
        """Wait for it in a coroutine, on any event loop; pykka's would block the loop."""
        return self._awaited().__await__()

    def set(self, value: Any | None = None) -> None:
        """As pykka's."""
        super().set(value)
        self._wake()

    def set_exception(self, exc_info: Any = None) -> None:
        """As pykka's."""
        super().set_exception(exc_info)
        self._wake()

    def set_get_hook(self, func: Any) -> None:
        """As pykka's."""
        super().set_get_hook(func)
        self._wake()

    async def _awaited(self) -> Any:
        slot = AwaitedSlot(None, "future")
        self._naps.append(slot)  # append, then look, as below
        try:
            if self._is_set():
                slot.resolve(None)
            await slot.hold()
        finally:
            self._naps.remove(slot)
        return self.get(timeout=0.0)

    def _is_set(self) -> bool:
        return self._result is not None or self._get_hook is not None

    def _wake(self) -> None:
        for nap in list(self._naps):
            nap.resolve(None)

    def _wait_inside(self, seat: Seat, timeout: float | None) -> None:
        nap = Nap(seat)
        self._naps.append(nap)  # append, then look; who sets it sets, then looks for who waits
        if self._is_set():
            nap.resolve(None)
        try:
            nap.hold(timeout)
        finally:
            self._naps.remove(nap)


def is_stop(message: object) -> bool:
    """Whether it is what pykka's `stop` sends."""
    return isinstance(message, _messages._ActorStop)  # noqa: SLF001 - pykka has no public name for it


def is_wrapped(message: object) -> bool:
    """Whether it is what a pykka proxy sends."""
    return isinstance(message, _PROXY)


def unwrap(actor: object, message: object) -> Any:  # Any: whatever the attribute holds
    """Do what a pykka proxy asks for."""
    match message:
        case _messages.ProxyCall():
            return get_attr_directly(actor, message.attr_path)(*message.args, **message.kwargs)
        case _messages.ProxyGetAttr():
            return get_attr_directly(actor, message.attr_path)
        case _messages.ProxySetAttr():
            owner = get_attr_directly(actor, message.attr_path[:-1]) if message.attr_path[:-1] else actor
            return setattr(owner, message.attr_path[-1], message.value)
    raise TypeError(message)
