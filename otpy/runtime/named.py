"""A handle by name: reaches whatever incarnation holds the name at the moment it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from otpy.core.absent import ABSENT
from otpy.core.reason import NoProc, Reason
from otpy.errors import NoProcError
from otpy.events.messages import DeadLetter
from otpy.runtime.awaited import acall
from otpy.runtime.caller import CALL_TIMEOUT, call, time_limit
from otpy.runtime.links import OutsideMonitor, watch
from otpy.runtime.name_wait import await_holder, holder_awaited
from otpy.runtime.pykka import Future
from otpy.runtime.request import Call, Cast, request_name
from otpy.runtime.seat import here

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from otpy.runtime.pykka import ActorProxy
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["NamedRef"]

A = TypeVar("A")
P = ParamSpec("P")
R = TypeVar("R")


OWN: Any = ABSENT
"""No time was given: the handle's own."""


class NamedRef(Generic[A]):
    """The verbs of `Ref`, for a name; it stays good over restarts."""

    __slots__ = ("_patience", "_seconds", "name", "system")

    def __init__(
        self, system: System, name: str, seconds: float | None = CALL_TIMEOUT, patience: float | None = 0.0
    ) -> None:
        """Made by `system.ref(NAME)`."""
        self.system = system
        self.name = name
        self._seconds = time_limit(seconds)
        self._patience = time_limit(patience)

    def call(self, request: Call[A, P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """As `Ref.call`; raises NoProcError when nobody holds the name, as between crash and restart.

        At once, unless `within(…, wait_for_name=…)` says otherwise.
        """
        ref = self._holder(request)
        return call(ref, ref.message_for(request, args, kwargs), self._seconds)  # type: ignore[no-any-return]

    def cast(self, request: Cast[A, P, R], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """As `Ref.cast`; a dead letter when nobody holds the name."""
        ref = self.system.names.get(self.name)
        if ref is None:
            self._dead_letter(f"cast {request_name(request)}")
        else:
            ref.cast(request, *args, **kwargs)

    def tell(self, message: object) -> None:
        """As `Ref.tell`; a dead letter when nobody holds the name. OTP differs: sending to an unknown name fails."""
        ref = self.system.names.get(self.name)
        if ref is None:
            self._dead_letter("a message")
        else:
            ref.tell(message)

    def ask(self, message: object, *, block: bool = True, timeout: float | None = OWN) -> Any:  # Any: as Ref.ask
        """As `Ref.ask`; the time is that of `within` unless given here.

        With `block=False` it waits for nothing: when nobody holds the name, the future has the NoProcError.
        """
        if block:
            seconds = self._seconds if timeout is OWN else timeout
            return self._holder("ask").ask(message, timeout=seconds)
        ref = self.whereis()
        if ref is not None:
            return ref.ask(message, block=False)
        future: Future[Any] = Future()
        error = self._nobody("ask")
        future.set_exception((type(error), error, None))
        return future

    def acall(self, request: Call[A, P, R], /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        """As `Ref.acall`; who holds the name is looked up when this is called, not when it is awaited.

        When nobody does it fails at once, unless `within(…, wait_for_name=…)` says otherwise.
        """
        ref = self.system.names.get(self.name)
        if ref is None:
            return self._later(request, lambda ref: acall(ref, ref.message_for(request, args, kwargs), self._seconds))
        return acall(ref, ref.message_for(request, args, kwargs), self._seconds)

    def aask(self, message: object) -> Coroutine[Any, Any, Any]:
        """As `Ref.aask`; who holds the name is looked up as in `acall`."""
        ref = self.system.names.get(self.name)
        if ref is None:
            return self._later("ask", lambda ref: ref.aask(message, timeout=self._seconds))
        return ref.aask(message, timeout=self._seconds)

    def proxy(self) -> ActorProxy[Any]:
        """A pykka proxy of who holds the name now; like a `Ref`, it is no good after that incarnation's end.

        Raises:
            NoProcError: nobody holds the name.
        """
        return self._holder("proxy").proxy()

    def within(self, seconds: float | None, *, wait_for_name: float | None = 0.0) -> NamedRef[A]:
        """The same name with other times for calls.

        Args:
            seconds: for the reply; None waits for ever.
            wait_for_name: before that, until somebody holds the name, as while its holder is restarted: seconds on the
                system's clock; None waits for ever. Without it a call fails at once. It is for `call`, `ask`,
                their awaited forms and `proxy`; a cast never waits. Who takes the name may still fail in its `init`,
                and then so does the call.
        """
        return NamedRef(self.system, self.name, seconds, wait_for_name)

    def stop(self, reason: Reason | None = None, *, block: bool = True, timeout: float | None = None) -> bool:
        """As `Ref.stop`; False when nobody holds the name."""
        ref = self.whereis()
        return False if ref is None else bool(ref.stop(reason, block=block, timeout=timeout))

    async def astop(self, reason: Reason | None = None, *, timeout: float | None = None) -> bool:
        """As `stop`, awaited."""
        ref = self.whereis()
        return ref is not None and await ref.astop(reason, timeout=timeout)

    def exit(self, reason: Reason) -> None:
        """As `Ref.exit`; nothing when nobody holds the name."""
        ref = self.whereis()
        if ref is not None:
            ref.exit(reason)

    def kill(self) -> bool:
        """As `Ref.kill`."""
        ref = self.whereis()
        return ref is not None and ref.kill()

    def monitor(self) -> OutsideMonitor:
        """As `Ref.monitor`, for who holds the name now; fires `NoProc` when nobody does."""
        monitor = OutsideMonitor(self.name, self.whereis())
        watch(monitor)
        return monitor

    def is_alive(self) -> bool:
        """Whether somebody holds the name."""
        ref = self.whereis()
        return ref is not None and ref.is_alive()

    def whereis(self) -> Ref[A] | None:
        """Who holds the name now."""
        return self.system.names.get(self.name)

    def _holder(self, request: object) -> Ref[Any]:
        ref = self.system.names.get(self.name)
        if ref is None and self._patience != 0:
            here().fence()
            ref = await_holder(self.system, self.name, self._patience)
        if ref is None:
            raise self._nobody(request)
        return ref

    def _later(
        self, request: object, ask: Callable[[Ref[Any]], Coroutine[Any, Any, Any]]
    ) -> Coroutine[Any, Any, Any]:  # Any: as Ref.ask
        if self._patience == 0:
            raise self._nobody(request)

        async def later() -> Any:  # Any: as above
            ref = await holder_awaited(self.system, self.name, self._patience)
            if ref is None:
                raise self._nobody(request)
            return await ask(ref)

        return later()

    def _nobody(self, request: object) -> NoProcError:
        root = self.system.root
        limit = root.more.gave_up if root is not None and root.more is not None else None
        return NoProcError(f"name {self.name!r}", request_name(request), NoProc(), limit)

    def _dead_letter(self, message: str) -> None:
        here().fence()
        self.system.events.emit(DeadLetter(path=self.name, message=message, why="nobody holds this name"))

    def __repr__(self) -> str:
        return f"<NamedRef {self.name}>"
