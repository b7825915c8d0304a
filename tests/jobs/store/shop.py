"""What the tests of stores say often, said shortly."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from otpy.jobs.model.claim import Ask, Settled
from otpy.jobs.model.job import Attempt
from otpy.jobs.model.lead import Fence
from otpy.jobs.model.new import NewJob, Unique

if TYPE_CHECKING:
    from otpy.jobs.model.job import Failure, Job, State
    from otpy.jobs.model.new import Inserted
    from otpy.jobs.store.protocol import Store

LEASE = 10_000
HOUR = 3_600_000
WORDS = [field.name for field in dataclasses.fields(Unique)]


def new(kind: str = "k", **fields: Any) -> NewJob:
    """A job that is due."""
    return NewJob(**{"kind": kind, "queue": "q", "args": b"a", "run_at": 0, "max_errors": 3, **fields})


def one(key: str, **fields: Any) -> NewJob:
    """A job of which there is one."""
    words = {name: fields.pop(name) for name in list(fields) if name in WORDS}
    return new(unique=Unique(key=key, **words), **fields)


def insert(store: Store, *jobs: NewJob) -> list[Inserted]:
    """Enqueue them."""
    with store.transaction() as tx:
        return tx.insert(jobs)


def lead(store: Store, owner: str = "us") -> Fence:
    """Have it elected, for an hour."""
    with store.transaction() as tx:
        epoch = tx.elect("jobs", owner, HOUR)
    assert epoch is not None
    return Fence(name="jobs", epoch=epoch)


def claim(store: Store, fence: Fence, number: int = 1, **fields: Any) -> list[Job]:
    """Give so many to one agent."""
    ask = Ask(**{"queues": ("q",), "owners": ("agent",) * number, "lease_ms": LEASE, **fields})
    with store.transaction() as tx:
        jobs = tx.claim([ask], fence)
    assert jobs is not None
    return jobs


def settle(store: Store, job: Job, state: State, failure: Failure | None = None, **fields: Any) -> bool:
    """Write down how it went."""
    attempt = None
    if failure is not None:
        attempt = Attempt(number=job.attempt, at=1, failure=failure, text="boom")
    with store.transaction() as tx:
        return tx.settle([Settled(id=job.id, token=job.token, state=state, attempt=attempt, **fields)])[0]


def get(store: Store, id: int) -> Job:
    """The job as it is now."""
    with store.transaction() as tx:
        job = tx.get(id)
    assert job is not None
    return job


def numbers(store: Store) -> dict[str, int]:
    """How many jobs of the queue are in which state."""
    with store.transaction() as tx:
        return {state: number for look in tx.queues() for state, number in look.numbers.items() if number}
