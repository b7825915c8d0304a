"""An actor together with the time its calls may take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from otpy.runtime.awaited import acall
from otpy.runtime.caller import call, time_limit

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from otpy.runtime.ref import Ref
    from otpy.runtime.request import Call

__all__ = ["Within"]

A = TypeVar("A")
P = ParamSpec("P")
R = TypeVar("R")


class Within(Generic[A]):
    """An actor with a time for calls, made by `ref.within(seconds)`."""

    __slots__ = ("_ref", "_seconds")

    def __init__(self, ref: Ref[A], seconds: float | None) -> None:
        """Seconds; None waits for ever."""
        self._ref = ref
        self._seconds = time_limit(seconds)

    def call(self, request: Call[A, P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """As `Ref.call`."""
        ref = self._ref
        return call(ref, ref.message_for(request, args, kwargs), self._seconds)  # type: ignore[no-any-return]

    def ask(self, message: object) -> Any:  # Any: raw replies have no type
        """As `Ref.ask`."""
        return self._ref.ask(message, timeout=self._seconds)

    def acall(self, request: Call[A, P, R], /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        """As `Ref.acall`."""
        ref = self._ref
        return acall(ref, ref.message_for(request, args, kwargs), self._seconds)

    def aask(self, message: object) -> Coroutine[Any, Any, Any]:
        """As `Ref.aask`."""
        return self._ref.aask(message, timeout=self._seconds)
