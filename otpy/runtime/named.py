"""A handle by name: reaches whatever incarnation holds the name at the moment it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from otpy.core.reason import NoProc, Reason
from otpy.errors import NoProcError
from otpy.events.messages import DeadLetter
from otpy.runtime.caller import CALL_TIMEOUT, call, time_limit
from otpy.runtime.links import OutsideMonitor, watch
from otpy.runtime.request import Call, Cast, request_name
from otpy.runtime.seat import here

if TYPE_CHECKING:
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["NamedRef"]

A = TypeVar("A")
P = ParamSpec("P")
R = TypeVar("R")


class NamedRef(Generic[A]):
    """The verbs of `Ref`, for a name; it stays good over restarts."""

    __slots__ = ("_seconds", "name", "system")

    def __init__(self, system: System, name: str, seconds: float | None = CALL_TIMEOUT) -> None:
        """Made by `system.ref(NAME)`."""
        self.system = system
        self.name = name
        self._seconds = time_limit(seconds)

    def call(self, request: Call[A, P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """As `Ref.call`; raises NoProcError at once when nobody holds the name, as between crash and restart."""
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

    def ask(self, message: object) -> Any:  # Any: raw replies have no type
        """As `Ref.ask`."""
        return self._holder("ask").ask(message, timeout=self._seconds)

    def within(self, seconds: float | None) -> NamedRef[A]:
        """The same name with another time for calls; None waits for ever."""
        return NamedRef(self.system, self.name, seconds)

    def stop(self, reason: Reason | None = None, *, timeout: float | None = None) -> bool:
        """As `Ref.stop`."""
        ref = self.whereis()
        return False if ref is None else bool(ref.stop(reason, timeout=timeout))

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
        if ref is None:
            root = self.system.root
            limit = root.more.gave_up if root is not None and root.more is not None else None
            raise NoProcError(f"name {self.name!r}", request_name(request), NoProc(), limit)
        return ref

    def _dead_letter(self, message: str) -> None:
        here().fence()
        self.system.events.emit(DeadLetter(path=self.name, message=message, why="nobody holds this name"))

    def __repr__(self) -> str:
        return f"<NamedRef {self.name}>"
