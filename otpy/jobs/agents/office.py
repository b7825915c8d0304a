"""Where a running job turns to: what it says and asks goes from here to the scheduler and the ledger as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.jobs.agents.desk import Desk
from otpy.jobs.agents.ledger import Ledger

if TYPE_CHECKING:
    from otpy.jobs.model.job import Job
    from otpy.runtime.named import NamedRef
    from otpy.runtime.ref import Ref

__all__ = ["Office"]

PATIENCE = 30.0
"""Seconds that a job waits for the store; a busy one is given up by then."""


class Office:  # Any, below: plain data, which may come from another process
    """For one agent; the same whether it lives in this process or not, for no function goes through it."""

    def __init__(self, agent: Ref[Any], scheduler: NamedRef[Desk], ledger: NamedRef[Ledger]) -> None:
        """Made by the agent."""
        self._agent = agent
        self._scheduler = scheduler
        self._ledger = ledger.within(PATIENCE)

    def note(self, job: Job, progress: bytes | None, checkpoint: bytes | None) -> None:
        """How far it is."""
        self._scheduler.cast(Desk.note, self._agent, job.id, job.token, progress, checkpoint)

    def begin(self, job: Job, key: str) -> Any:
        """Whether it may do what it does once."""
        return self._ledger.call(Ledger.begin, job.id, job.token, key)

    def keep(self, job: Job, key: str, result: bytes) -> Any:
        """It is done."""
        return self._ledger.call(Ledger.keep, job.id, job.token, key, result)

    async def abegin(self, job: Job, key: str) -> Any:
        """As `begin`, awaited."""
        return await self._ledger.acall(Ledger.begin, job.id, job.token, key)

    async def akeep(self, job: Job, key: str, result: bytes) -> Any:
        """As `keep`, awaited."""
        return await self._ledger.acall(Ledger.keep, job.id, job.token, key, result)

    def drop(self, job: Job, key: str) -> None:
        """It failed."""
        self._ledger.cast(Ledger.drop, job.id, job.token, key)
