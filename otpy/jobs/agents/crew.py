"""A crew keeps so many agents: one that is gone is replaced, whatever it was that ended it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.actors.dynamic_supervisor import DynamicSupervisor
from otpy.actors.gen_server import GenServer
from otpy.core.spec import child
from otpy.jobs.agents.agent import Agent, AsyncAgent
from otpy.runtime.links import Down

if TYPE_CHECKING:
    from otpy.core.spec import ChildSpec
    from otpy.jobs.setup import Crew, Setup

__all__ = ["Foreman"]


class Foreman(GenServer):
    """Starts agents under a supervisor of its own until there are `size` and `spare`.

    They are temporary there: an agent that a job has ended says nothing of the machinery, so it counts in no restart
    limit. An agent that does not even start does: then the foreman ends with that, and its supervisor counts.
    """

    def init(self, setup: Setup, crew: Crew) -> None:
        """Have all of them there before anything else."""
        from otpy.jobs.scheduler.scheduler import Scheduler  # noqa: PLC0415 - the scheduler knows agents

        kinds = {name: setup.kinds[name] for name in crew.kinds}
        cls: Any = AsyncAgent if crew.place == "loop" else Agent
        scheduler = self.system.ref(setup.actor(Scheduler, "scheduler"))
        self.spec: ChildSpec = child(cls, scheduler, crew, kinds).opts(restart="temporary", place=crew.place)
        self.agents = self.system.ref(setup.actor(DynamicSupervisor, f"agents/{crew.name}")).within(None)
        for _ in range(crew.size + crew.spare):
            self._start()

    def handle_info(self, message: object) -> None:
        """One is gone."""
        if isinstance(message, Down):
            self._start()

    def _start(self) -> None:
        agent = self.agents.call(DynamicSupervisor.start_child, self.spec)
        if agent is not None:
            self.monitor(agent)
