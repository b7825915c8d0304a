"""By what right a scheduler claims: as the leader of all programs, or for a station that is one of many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.core.value import value
from otpy.jobs.program import signed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otpy.jobs.model.claim import Ask
    from otpy.jobs.model.host import Station
    from otpy.jobs.model.job import Job
    from otpy.jobs.model.lead import Fence
    from otpy.jobs.store.protocol import Transaction
    from otpy.runtime.named import NamedRef
    from otpy.runtime.system import System

__all__ = ["Right", "Rights"]


@value
class Right:
    """Good as long as the store says so."""

    by: Fence | Station
    version: str = ""
    """Of the code of this program."""

    def claim(self, tx: Transaction, asks: Sequence[Ask]) -> list[Job] | None:
        """Jobs for these wishes; None when it is good no longer."""
        return tx.claim(asks, self.by, self.version)


class Rights:
    """Part of the scheduler. `now` is what it claims by; None while this program may begin nothing."""

    def __init__(self, system: System, engine: str, fence: Fence | None, version: str) -> None:
        """A leader's, or without its fence that of a station, which the membership tells."""
        self._version = version
        self.now: Right | None = None if fence is None else Right(fence, version)
        self.is_shared = fence is None
        """Whether others claim as well."""
        self._giver: NamedRef[Any] = system.ref(f"{engine}/{'membership' if self.is_shared else 'leader'}")
        if self.is_shared:
            self._giver.tell("begin")

    def named(self, path: str) -> str:
        """An agent as the store calls it."""
        return signed(path) if self.is_shared else path

    def give(self, station: Station | None) -> None:
        """Have this one from now on."""
        self.now = None if station is None else Right(station, self._version)

    def refused(self, right: Right | None) -> None:
        """The store says that it is good no longer: who has given it shall look.

        A lead may go on, when the clock was set back in between. A station has a successor that is told.
        """
        if self.is_shared and right == self.now:
            self.now = None
        self._giver.tell("look")
