"""`of`: what enqueues jobs and looks at them, in any thread of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.core.spec import Name
from otpy.jobs.errors import KeyTakenError
from otpy.jobs.model import NewJob
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
            return tx.insert([_new(spec, tx.now) for spec in wanted])

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


def _new(spec: JobSpec[Any], now: int) -> NewJob:
    kind = spec.kind
    return NewJob(
        kind=kind.name,
        queue=spec.queue,
        args=spec.args,
        run_at=now + round(spec.delay * 1_000),
        priority=spec.priority,
        tenant=spec.tenant,
        needs=kind.needs,
        unique=spec.unique,
        key=spec.key,
        max_errors=kind.retry.errors,
        max_crashes=kind.retry.crashes,
        timeout_ms=None if kind.timeout is None else round(kind.timeout * 1_000),
        deadline_at=None if spec.deadline is None else now + round(spec.deadline * 1_000),
    )
