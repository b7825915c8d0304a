"""The janitor: what is due becomes ready, what is overdue ends, and what dead programs have left is taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.actors.gen_server import GenServer
from otpy.jobs.scheduler.scheduler import Scheduler
from otpy.jobs.writer import Writer
from otpy.runtime.request import cast

if TYPE_CHECKING:
    from otpy.jobs.model import Fence, Job
    from otpy.jobs.setup import Setup
    from otpy.jobs.store.protocol import Transaction

__all__ = ["Janitor"]

LIMIT = 1_000
"""Rows of one round."""


class Round:
    """One round, in the writer's thread."""

    def __init__(self, fence: Fence) -> None:
        """Of this leader."""
        self.fence = fence
        self.queues: set[str] = set()
        self.rescued: list[Job] = []

    def __call__(self, tx: Transaction) -> None:
        """Do it."""
        tx.promote(LIMIT, self.fence)
        tx.expire(LIMIT, self.fence)
        self.rescued = tx.rescue(0, LIMIT, self.fence) or []
        self.queues = {look.name for look in tx.queues() if look.numbers.get("ready")}  # other programs enqueue, too


class Janitor(GenServer):
    """A supervised actor and no job, for who would rescue that? Nothing it holds outlives it."""

    def init(self, setup: Setup, fence: Fence) -> None:
        """Begin at once."""
        self.fence = fence
        self.writer = self.system.ref(setup.actor(Writer, "writer"))
        self.scheduler = self.system.ref(setup.actor(Scheduler, "scheduler"))
        self.send_interval(setup.poll, "round")

    def handle_info(self, message: object) -> None:
        """The time has come."""
        if message == "round":
            done, own = Round(self.fence), self.ref
            self.writer.cast(Writer.submit, done, lambda error: None if error else own.cast(Janitor.finished, done))

    @cast
    def finished(self, done: Round) -> None:
        """Tell the scheduler where there is work."""
        if done.rescued:
            self.scheduler.cast(Scheduler.returned, done.rescued)
        if done.queues:
            self.scheduler.cast(Scheduler.hope, done.queues)
