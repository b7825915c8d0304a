"""Agents that were ended and whose code runs on: on a thread, which cannot be killed, or in a process about to end."""

from __future__ import annotations

from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from otpy.jobs.agents.agent import AsyncAgent
from otpy.runtime.death import LAST_BREATH

if TYPE_CHECKING:
    from otpy.jobs.model.job import Job
    from otpy.jobs.scheduler.judge import End
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["REAP", "Undead"]

BREATH = 2 * LAST_BREATH
"""Seconds after which a killed agent has left its code, or is a zombie whose end will be told."""

REAP = 0.002
"""Seconds between two looks whether a killed process is gone."""


class Undead:
    """Their jobs wait, for no other attempt begins beside one that may still do something."""

    def __init__(self, system: System) -> None:
        """Nobody yet; the system knows whose code runs."""
        self._system = system
        self._left: dict[Ref[Any], tuple[Job, End]] = {}

    def runs_on(self, agent: Ref[Any]) -> bool:
        """Whether its code does, though it is dead."""
        return agent in self._system.undead or self.is_apart(agent)

    def is_apart(self, agent: Ref[Any]) -> bool:
        """Whether it is a process that is about to end; nobody tells that end, so somebody has to look."""
        return agent in self._system.beyonds

    def add(self, agent: Ref[Any], job: Job, end: End) -> float:
        """One is; its job is to end so. Seconds until the first look at it."""
        self._left[agent] = (job, end)
        return REAP if self.is_apart(agent) else BREATH

    def jobs(self) -> list[Job]:
        """What they have not let go."""
        return [job for job, _ in self._left.values()]

    def at(self, path: str) -> list[Ref[Any]]:
        """Those with this path."""
        return [agent for agent in self._left if agent.path == path]

    def take(self, agent: Ref[Any]) -> tuple[Job, End] | None:
        """Its job is waited for no longer; how that is to end, or None when it was not waited for."""
        return self._left.pop(agent, None)

    def drop(self, id: int, token: int) -> Job | None:
        """Whatever becomes of this job, nobody waits for it."""
        for agent, (job, _) in self._left.items():
            if (job.id, job.token) == (id, token):
                del self._left[agent]
                return job
        return None

    def last(self) -> list[tuple[Job, End]]:
        """Those whose code has ended, after a moment for coroutines and processes that were ended just now.

        A thread may need for ever, and is not waited for.
        """
        until = monotonic() + BREATH
        brief = [one for one in self._left if one.actor_class is AsyncAgent or self.is_apart(one)]
        while monotonic() < until and any(self.runs_on(agent) for agent in brief):
            sleep(REAP)
        return [left for agent, left in self._left.items() if not self.runs_on(agent)]
