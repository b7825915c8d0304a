"""What a program does for the jobs of a store, as subtrees: the work, the lead, and on a file both as one."""

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

__all__ = ["DRAIN", "LEAD_END", "Duties", "LeadDuties", "Work"]


DRAIN = 15.0
"""Seconds that who works has to end at most, agents with all they do and what is written of it; then they are killed,
and what was at hand waits for its lease."""
LEAD_END = 1.0
"""Seconds that who only leads has to end at most: it has nothing to wind up."""


class Work(Supervisor):
    """Who does jobs, in every program on a server.

    Rest for one: agents belong to the scheduler that knows their jobs, and go with it.
    """

    strategy: Strategy = "rest_for_one"

    def init(self, setup: Setup) -> None:
        """Know of no crew that was given other numbers."""
        self.setup = setup
        self.scaled: dict[str, Crew] = {}

    def children(self) -> list[ChildSpec]:
        """In start order."""
        return [*clerks(self.setup, None), *crews(self.setup, self.scaled)]


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
