"""A recorder of events: what a system reported, as a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, TypeVar

from otpy.testing.arrivals import PATIENCE, Arrivals

if TYPE_CHECKING:
    from types import TracebackType

    from otpy.events.event import Event
    from otpy.runtime.system import System

__all__ = ["Recorder"]

E = TypeVar("E", bound="Event")


class Recorder:
    """Lists the events of a system from now on, of these types or of all, until `detach` or the end of a `with`."""

    def __init__(self, system: System, *types: type[Event]) -> None:
        """Attach to the system's events."""
        self._log: Arrivals[Event] = Arrivals()
        self._detach = system.events.attach(self._log.add, *types)

    @property
    def events(self) -> list[Event]:
        """All so far, in order."""
        return self._log.so_far()

    def of(self, kind: type[E]) -> list[E]:
        """Those of one type, in order."""
        return [event for event in self._log.so_far() if isinstance(event, kind)]

    def expect(self, count: int, *, timeout: float | None = PATIENCE) -> list[Event]:
        """Wait until there are so many, and return that many, the first ones.

        Args:
            count: how many.
            timeout: real seconds; a safety net.

        Raises:
            TimeoutError: there are fewer; the message shows them.
        """
        return self._log.wait(count, timeout)

    def detach(self) -> None:
        """Record nothing more."""
        self._detach()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.detach()
