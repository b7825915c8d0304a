"""How many jobs run of each queue, kind and tenant, and so how many more may. No actor, no clock, no store."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from otpy.jobs.model.job import Job
    from otpy.jobs.setup import Queue

__all__ = ["Load"]


class Load:
    """What runs here, at hand or with an agent, and what ran elsewhere when this program began to lead."""

    def __init__(self, queues: Mapping[str, Queue], kind_limits: Mapping[str, int]) -> None:
        """Nothing runs. These have limits."""
        self._queues = queues
        self._kind_limits = kind_limits
        self.rooms: Mapping[str, int] = {}
        """How many of a kind may run just now, beside its limit; a kind that is not here may."""
        self._running: Counter[str] = Counter()
        self._kinds: Counter[str] = Counter()
        self._tenants: dict[str, Counter[str]] = {}

    def add(self, job: Job) -> None:
        """One more runs."""
        self._count(job, 1)

    def remove(self, job: Job) -> None:
        """One runs no longer."""
        self._count(job, -1)

    def is_limited(self, queue: str) -> bool:
        """Whether one that ends makes room in its queue."""
        return queue in self._queues

    def is_bounded(self, queue: str) -> bool:
        """Whether somebody has to count before a job of it begins."""
        own = self._queues.get(queue)
        return own is not None and ((own.limit, own.tenant_limit, own.rate) != (None, None, None) or bool(own.weights))

    def is_kind_limited(self, kind: str) -> bool:
        """Whether one that ends makes room for its kind, in whichever queue."""
        return kind in self._kind_limits or kind in self.rooms

    def room(self, queue: str) -> int | None:
        """How many more jobs of it may run; None means any number."""
        own = self._queues.get(queue)
        return None if own is None or own.limit is None else max(0, own.limit - self._running[queue])

    def kind_rooms(self, kinds: Iterable[str]) -> dict[str, int]:
        """How many more may run of those of these kinds that have a limit."""
        limited = self._kind_limits.keys() | self.rooms.keys()
        return {kind: self._kind_room(kind) for kind in kinds if kind in limited}

    def tenants(self, queue: str) -> dict[str, int]:
        """How many jobs of each tenant run, in a queue that is declared."""
        return dict(self._tenants.get(queue, {}))

    def _kind_room(self, kind: str) -> int:
        return min(limits[kind] for limits in (self._kind_limits, self.rooms) if kind in limits) - self._kinds[kind]

    def _count(self, job: Job, change: int) -> None:
        _add(self._kinds, job.kind, change)
        if job.queue not in self._queues:
            return  # without limits, so nobody asks
        _add(self._running, job.queue, change)
        if job.tenant:
            _add(self._tenants.setdefault(job.queue, Counter()), job.tenant, change)
            if not self._tenants[job.queue]:
                del self._tenants[job.queue]


def _add(counter: Counter[str], key: str, change: int) -> None:
    """Count, and forget what is nought: queues and tenants come and go, and each wish has a copy of who is counted."""
    counter[key] += change
    if not counter[key]:
        del counter[key]
