"""What the leader of all programs on a store does: what must be done once, and on a file the work as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.actors.supervisor import Supervisor
from otpy.core.spec import child
from otpy.jobs.janitor import Janitor
from otpy.jobs.timekeeper import Timekeeper
from otpy.jobs.work import clerks, crews

if TYPE_CHECKING:
    from otpy.core.spec import ChildSpec
    from otpy.core.strategy import Strategy
    from otpy.jobs.model.lead import Fence
    from otpy.jobs.setup import Crew, Setup

__all__ = ["LEAD_END", "Duties", "LeadDuties"]

LEAD_END = 1.0
"""Seconds that who only leads has to end at most: it has nothing to wind up."""


class LeadDuties(Supervisor):
    """Who does what must be done once for all programs."""

    def init(self, setup: Setup, fence: Fence, calm: float = 0.0) -> None:
        """Of the leader with this epoch; nothing is taken back from others for so many seconds."""
        self.setup, self.fence, self.calm = setup, fence, calm

    def children(self) -> list[ChildSpec]:
        """In start order."""
        setup, fence = self.setup, self.fence
        return [
            child(Timekeeper, setup, fence).opts(id="timekeeper", name=setup.actor(Timekeeper, "timekeeper")),
            child(Janitor, setup, fence, self.calm).opts(id="janitor", name=setup.actor(Janitor, "janitor")),
        ]


class Duties(LeadDuties):
    """The lead and the work of the one program that does both. Rest for one, as `Work`."""

    strategy: Strategy = "rest_for_one"

    def init(self, setup: Setup, fence: Fence, calm: float = 0.0) -> None:
        """As both of them."""
        super().init(setup, fence, calm)
        self.scaled: dict[str, Crew] = {}

    def children(self) -> list[ChildSpec]:
        """In start order."""
        return [*clerks(self.setup, self.fence), *super().children(), *crews(self.setup, self.scaled)]
