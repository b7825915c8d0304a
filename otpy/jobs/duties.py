"""What a leader does, as one subtree: the scheduler, the janitor, the crews."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.actors.dynamic_supervisor import DynamicSupervisor, dynamic
from otpy.actors.supervisor import Supervisor
from otpy.core.spec import child
from otpy.jobs.agents.beat import Beat
from otpy.jobs.agents.crew import Foreman
from otpy.jobs.janitor import Janitor
from otpy.jobs.scheduler.scheduler import Scheduler
from otpy.jobs.timekeeper import Timekeeper

if TYPE_CHECKING:
    from otpy.core.spec import ChildSpec
    from otpy.core.strategy import Strategy
    from otpy.jobs.model import Fence
    from otpy.jobs.setup import Setup

__all__ = ["Duties"]


class Duties(Supervisor):
    """Rest for one: agents belong to the scheduler that knows their jobs, and go with it."""

    strategy: Strategy = "rest_for_one"

    def init(self, setup: Setup, fence: Fence) -> None:
        """Of the leader with this epoch."""
        self.setup, self.fence = setup, fence

    def children(self) -> list[ChildSpec]:
        """In start order."""
        setup, fence = self.setup, self.fence
        return [
            child(Beat, setup).opts(id="beat", name=setup.actor(Beat, "beat")),
            child(Scheduler, setup, fence).opts(id="scheduler", name=setup.actor(Scheduler, "scheduler")),
            child(Janitor, setup, fence).opts(id="janitor"),
            child(Timekeeper, setup, fence).opts(id="timekeeper"),
            *(one for crew in setup.crews for one in self._crew(crew.name)),
        ]

    def _crew(self, name: str) -> list[ChildSpec]:
        crew = next(one for one in self.setup.crews if one.name == name)
        home = self.setup.actor(DynamicSupervisor, f"agents/{name}")
        return [
            dynamic().opts(id=name, name=home),
            child(Foreman, self.setup, crew).opts(id=f"{name}-foreman"),
        ]
