"""The tree around the actors: a collector, a crew of agents for each shift, a scheduler."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import otpy
from otpy.demo.collector import COLLECTOR, Collector, Tell

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otpy.demo.files import File

__all__ = ["CREWS", "SHIFT", "CountFiles", "Shifts", "crew"]

CREWS = otpy.name(otpy.DynamicSupervisor, "crews")

SHIFT = 1_000
"""Files that one crew reads."""

DAY = 86_400.0


class CountFiles(otpy.Supervisor):
    """The whole job, in start order: it is stopped in reverse, so nobody gives out files while others go home."""

    max_restarts = 0
    """What the scheduler and the collector know dies with them, and then there is nothing to go on with."""
    auto_shutdown = "any_significant"
    """The collector ends when it has reported, and then the whole tree does."""

    def init(self, scheduler: otpy.ChildSpec, tell: Tell) -> None:
        """Take the scheduler, and whom the collector tells."""
        self.scheduler = scheduler.opts(id="scheduler")
        self.collector = otpy.child(Collector, tell).opts(id="collector", name=COLLECTOR)

    def children(self) -> list[otpy.ChildSpec]:
        """Declare them; the agents come and go under `crews`."""
        return [
            self.collector.opts(restart="transient", significant=True),
            otpy.dynamic(max_restarts=0).opts(id="crews", name=CREWS),
            self.scheduler,
        ]


def crew(files: int) -> otpy.ChildSpec:
    """The supervisor of the agents that read so many files: it bears two crashes a file, and a hundred more.

    With `--crash 0.3` a file is expected to cost 1.3 crashes, so a crew gets through; with 1.0 none is ever done, so
    that any limit is reached. The window is longer than any shift, for how many crashes come within a second tells more
    of the machine than of the agents. A fresh crew for each thousand files keeps the limit small: it is reached at
    once, and not after the hundred thousand restarts that 50 000 files would need.
    """
    return otpy.dynamic(max_restarts=2 * files + 100, max_seconds=DAY)


class Shifts:
    """The scheduler's plan: thousand files after thousand files, each with a crew of its own."""

    def __init__(self, system: otpy.System, agents: list[otpy.ChildSpec]) -> None:
        """Every crew has these agents."""
        self._crews = system.ref(CREWS).within(None)  # it answers, or ends and takes the scheduler along
        self._agents = agents
        self._files: Iterable[File] = ()
        self._crew: otpy.Ref[otpy.DynamicSupervisor] | None = None

    def plan(self, files: Iterable[File]) -> None:
        """These are to be read."""
        self._files = iter(files)

    def next(self) -> list[File]:
        """Send the old crew home and call a new one; returns its files, none when all are done."""
        if self._crew is not None:
            self._crews.call(otpy.DynamicSupervisor.terminate_child, self._crew)
            self._crew = None
        files = list(islice(self._files, SHIFT))
        if files:
            self._crew = self._crews.call(otpy.DynamicSupervisor.start_child, crew(len(files)))
        if self._crew is not None:
            self._crew.within(None).call(otpy.DynamicSupervisor.start_children, self._agents)
        return files
