"""By what right a scheduler claims: as the leader of all programs, or for a station that is one of many."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from otpy.core.value import value
from otpy.jobs.program import signed
from otpy.runtime.draining import draining_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from otpy.jobs.model.claim import Ask
    from otpy.jobs.model.host import Station
    from otpy.jobs.model.job import Job
    from otpy.jobs.model.lead import Fence
    from otpy.jobs.store.protocol import Transaction
    from otpy.runtime.named import NamedRef
    from otpy.runtime.ref import Ref

__all__ = ["Right", "Rights"]


@value
class Right:
    """Good as long as the store says so."""

    by: Fence | Station
    version: str = ""
    """Of the code of this program."""
    is_over: Callable[[], bool] = field(default=bool, compare=False)
    """Whether nothing more is to begin; asked in the writer's thread, for a wish may have been on its way."""

    def claim(self, tx: Transaction, asks: Sequence[Ask]) -> list[Job] | None:
        """Jobs for these wishes; None when it is good no longer."""
        return [] if self.is_over() else tx.claim(asks, self.by, self.version)


class Rights:
    """Part of the scheduler. `now` is what it claims by; None while this program may begin nothing."""

    def __init__(self, own: Ref[Any], engine: str, fence: Fence | None, version: str) -> None:
        """A leader's, or without its fence that of a station, which the membership tells."""
        self._version, self._own = version, own
        self._is_closed = False
        self.now: Right | None = None if fence is None else Right(fence, version, self._is_over)
        self.is_shared = fence is None
        """Whether others claim as well."""
        self._giver: NamedRef[Any] = own.system.ref(f"{engine}/{'membership' if self.is_shared else 'leader'}")
        if self.is_shared:
            self._giver.tell("begin")

    def named(self, path: str) -> str:
        """An agent as the store calls it."""
        return signed(path) if self.is_shared else path

    def give(self, station: Station | None) -> None:
        """Have this one from now on."""
        self.now = None if station is None or self._is_closed else Right(station, self._version, self._is_over)

    def close(self) -> None:
        """Have none any more, whatever is given: from now on nothing is claimed, also by what is on its way."""
        self._is_closed = True
        self.now = None

    def refused(self, right: Right | None) -> None:
        """The store says that it is good no longer: who has given it shall look.

        A lead may go on, when the clock was set back in between. A station has a successor that is told.
        """
        if self.is_shared and right == self.now:
            self.now = None
        self._giver.tell("look")

    def _is_over(self) -> bool:
        return self._is_closed or draining_of(self._own.system, self._own) is not None
