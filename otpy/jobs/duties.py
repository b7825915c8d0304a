"""What a leader does, as one subtree: the scheduler, the janitor, the crews."""

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

__all__ = ["DRAIN", "Duties"]


DRAIN = 15.0
"""Seconds that the duties have to end at most, agents with all they do and what is written of it; then they are killed,
and what was at hand waits for its lease."""


def lead(setup: Setup, fence: Fence, calm: float) -> list[ChildSpec]:
    """Who does what must be done once for all programs, in start order."""
    return [
        child(Timekeeper, setup, fence).opts(id="timekeeper", name=setup.actor(Timekeeper, "timekeeper")),
        child(Janitor, setup, fence, calm).opts(id="janitor", name=setup.actor(Janitor, "janitor")),
    ]


class Duties(Supervisor):
    """Rest for one: agents belong to the scheduler that knows their jobs, and go with it."""

    strategy: Strategy = "rest_for_one"

    def init(self, setup: Setup, fence: Fence, calm: float = 0.0) -> None:
        """Of the leader with this epoch; nothing is taken back from others for so many seconds."""
        self.setup, self.fence, self.calm = setup, fence, calm
        self.scaled: dict[str, Crew] = {}

    def children(self) -> list[ChildSpec]:
        """In start order."""
        setup, fence = self.setup, self.fence
        return [*clerks(setup, fence), *lead(setup, fence, self.calm), *crews(setup, self.scaled)]
