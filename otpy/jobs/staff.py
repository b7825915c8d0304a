"""The crews of a program, for who looks at them or resizes them from outside: any thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from otpy.errors import NoProcError
from otpy.jobs.agents.crew import Foreman
from otpy.jobs.errors import NoSuchCrewError, NotLeadingError
from otpy.jobs.model.look import CrewLook

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otpy.jobs.model.look import Want
    from otpy.jobs.setup import Crew, Setup
    from otpy.runtime.named import NamedRef
    from otpy.runtime.system import System

__all__ = ["Staff"]

PATIENCE = 1.0
"""Seconds that a foreman may take to be started, or started again."""


@dataclass(frozen=True, slots=True)
class Staff:
    """The agents that an engine has in this program: where it leads, or on a server in each."""

    system: System
    setup: Setup

    @property
    def is_here(self) -> bool:
        """Whether there are agents in this program."""
        return self.system.names.get(f"{self.setup.name}/scheduler") is not None

    def looks(self) -> list[CrewLook]:
        """Each crew, as it was declared in this order; none where there are no agents."""
        return [self._look(crew) for crew in self.setup.crews] if self.is_here else []

    def scale(self, name: str, size: int, spare: int | None, seconds: float | None) -> CrewLook:
        """Have so many from now on.

        Raises:
            NoSuchCrewError: there is none of this name.
            NotLeadingError: the agents are in another program, or not there yet.
            SpecError: a number that cannot be.
        """
        crew = next((one for one in self.setup.crews if one.name == name), None)
        if crew is None:
            raise NoSuchCrewError(name, [one.name for one in self.setup.crews])
        if not self.is_here:
            raise NotLeadingError(self.setup.name)
        try:
            self._foreman(name).within(seconds, wait_for_name=PATIENCE).call(Foreman.resize, size, spare)
        except NoProcError:  # its work has just begun, or just ends: nobody was reached
            raise NotLeadingError(self.setup.name) from None
        return self._look(crew)

    def strangers(self, wants: Iterable[Want]) -> list[Want]:
        """Those of them that no crew can take, for want of a label or of the code."""
        return [want for want in wants if not any(_takes(crew, want) for crew in self.setup.crews)]

    def _look(self, crew: Crew) -> CrewLook:
        """By the numbers that its foreman alone writes; as declared until there is one."""
        foreman = self._foreman(crew.name).whereis()
        actor = None if foreman is None else foreman.actor
        problem = getattr(actor, "problem", None)
        return CrewLook(
            name=crew.name,
            place=crew.place,
            size=getattr(getattr(actor, "crew", crew), "size", crew.size),
            desired=getattr(actor, "desired", crew.size + crew.spare),
            ready=getattr(actor, "ready", 0),
            problem=None if problem is None else str(problem),
        )

    def _foreman(self, crew: str) -> NamedRef[Foreman]:
        return self.system.ref(self.setup.actor(Foreman, f"foreman/{crew}"))


def _takes(crew: Crew, want: Want) -> bool:
    needs = set(filter(None, want.needs.split(",")))
    is_its_queue = crew.queues is None or want.queue in crew.queues
    return is_its_queue and want.kind in crew.kinds and needs <= crew.labels
