"""For whom a scheduler claims: the leader of this program, or a station that is one of many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from otpy.jobs.model.host import Station
    from otpy.jobs.model.lead import Fence
    from otpy.runtime.named import NamedRef
    from otpy.runtime.system import System

__all__ = ["Post"]


class Post:
    """Part of the scheduler. `by` is its right to claim; None while this program may begin nothing."""

    def __init__(self, system: System, engine: str, fence: Fence | None) -> None:
        """A leader's, or without its fence that of a station, which the membership tells."""
        self.by: Fence | Station | None = fence
        self.is_shared = fence is None
        """Whether others claim as well."""
        self._giver: NamedRef[Any] = system.ref(f"{engine}/{'leader' if fence else 'membership'}")
        if self.is_shared:
            self._giver.tell("look")

    def refused(self, by: Fence | Station | None) -> None:
        """The store says that this is nobody's right any more: who has given it shall look.

        A lead may go on, when the clock was set back in between. A station has a successor that is told.
        """
        if self.is_shared and by == self.by:
            self.by = None
        self._giver.tell("look")
