"""Who does jobs in a program: those who keep and claim them, then the agents and who replaces them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.actors.dynamic_supervisor import DynamicSupervisor, dynamic
from otpy.actors.supervisor import Supervisor
from otpy.core.spec import child
from otpy.jobs.agents.beat import Beat
from otpy.jobs.agents.crew import Foreman
from otpy.jobs.agents.ledger import Ledger
from otpy.jobs.lookout import Lookout
from otpy.jobs.scheduler.scheduler import Scheduler

if TYPE_CHECKING:
    from otpy.core.spec import ChildSpec
    from otpy.core.strategy import Strategy
    from otpy.jobs.model.lead import Fence
    from otpy.jobs.setup import Crew, Setup

__all__ = ["DRAIN", "Work", "clerks", "crews"]

DRAIN = 15.0
"""Seconds that who works has to end at most, agents with all they do and what is written of it; then they are killed,
and what was at hand waits for its lease."""


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


def clerks(setup: Setup, fence: Fence | None) -> list[ChildSpec]:
    """In start order; without the fence of a leader every program has them."""
    return [
        child(Beat, setup).opts(id="beat", name=setup.actor(Beat, "beat")),
        child(Ledger, setup).opts(id="ledger", name=setup.actor(Ledger, "ledger")),
        child(Scheduler, setup, fence).opts(id="scheduler", name=setup.actor(Scheduler, "scheduler")),
        child(Lookout, setup).opts(id="lookout", name=setup.actor(Lookout, "lookout")),
    ]


def crews(setup: Setup, scaled: dict[str, Crew]) -> list[ChildSpec]:
    """In start order; in `scaled` are the numbers that crews were given while they run."""
    return [*(_home(setup, crew) for crew in setup.crews), *(_foreman(setup, crew, scaled) for crew in setup.crews)]


def _home(setup: Setup, crew: Crew) -> ChildSpec:
    return dynamic().opts(id=crew.name, name=setup.actor(DynamicSupervisor, f"agents/{crew.name}"))


def _foreman(setup: Setup, crew: Crew, scaled: dict[str, Crew]) -> ChildSpec:
    """After all agents: foremen are stopped first, so that no crew begins a job while another one is stopped."""
    name = setup.actor(Foreman, f"foreman/{crew.name}")
    return child(Foreman, setup, crew, scaled).opts(id=f"{crew.name}-foreman", name=name)
