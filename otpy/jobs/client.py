"""`of`: what enqueues jobs and looks at them, in any thread of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.core.spec import Name
from otpy.jobs.errors import KeyTakenError
from otpy.jobs.kind import new_job
from otpy.jobs.scheduler.scheduler import Scheduler
from otpy.jobs.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otpy.jobs.kind import JobSpec
    from otpy.jobs.model import Inserted, Job, QueueLook
    from otpy.jobs.store.protocol import Transaction
    from otpy.runtime.system import System

__all__ = ["Client", "of"]


class Client:
    """A handle on one engine; costs nothing, holds nothing."""

    def __init__(self, system: System, name: str) -> None:
        """Made by `of`."""
        self._writer = system.ref(Name(f"{name}/writer", Writer))
        self._scheduler = system.ref(Name(f"{name}/scheduler", Scheduler))

    def enqueue(self, spec: JobSpec[Any]) -> Inserted:
        """Enqueue one job; when this returns it is kept.

        Raises:
            KeyTakenError: its key was used for another job, or one is in the way.
            StoreError: the store failed, and nothing is kept.
        """
        return self.enqueue_all([spec])[0]

    def enqueue_all(self, specs: Iterable[JobSpec[Any]]) -> list[Inserted]:
        """Enqueue many, all or none. Raises as `enqueue`."""
        wanted = list(specs)

        def insert(tx: Transaction) -> list[Inserted]:
            return tx.insert([new_job(spec, tx.now) for spec in wanted])

        made: list[Inserted] = self._writer.call(Writer.run, insert)
        self._scheduler.cast(Scheduler.hope, {spec.queue for spec in wanted})
        for spec, one in zip(wanted, made, strict=True):
            if one.how in ("differs", "refused"):
                raise KeyTakenError(spec.kind.name, spec.key or (spec.unique and spec.unique.key) or "", one.id)
        return made

    def get(self, id: int) -> Job | None:
        """One job, with its failed attempts; None when there is none, or it is forgotten."""
        job: Job | None = self._writer.call(Writer.run, lambda tx: tx.get(id))
        return job

    def queues(self) -> list[QueueLook]:
        """How each queue is."""
        looks: list[QueueLook] = self._writer.call(Writer.run, lambda tx: tx.queues())
        return looks


def of(system: System, name: str = "jobs") -> Client:
    """The engine of this name."""
    return Client(system, name)
