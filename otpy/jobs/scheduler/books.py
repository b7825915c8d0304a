"""What the scheduler knows: who rests, who does what, and where there may be work. No actor, no clock, no store."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from otpy.jobs.model import Ask

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otpy.jobs.model import Job
    from otpy.jobs.setup import Crew, Queue

__all__ = ["Books", "Worker"]

R = TypeVar("R")


@dataclass(slots=True)
class Worker(Generic[R]):
    """One agent."""

    name: str
    """Its path: what the store calls the owner."""
    ref: R
    crew: Crew
    job: Job | None = None
    """What it does."""
    is_asked_for: bool = False
    """Whether a job for it is being claimed."""


class Books(Generic[R]):
    """Every agent rests, is asked for, or has one job; every running job of this program is here once."""

    def __init__(self, queues: dict[str, Queue]) -> None:
        """Know nobody."""
        self._queues = queues
        self._workers: dict[R, Worker[R]] = {}
        self._by_name: dict[str, Worker[R]] = {}
        self._running: Counter[str] = Counter()
        self._elsewhere: dict[int, str] = {}
        self._hopeful: dict[str, set[str]] = {}
        """Queues in which something may be ready, the one that has waited longest first, and the crews for which there
        is nothing."""
        self._news: set[str] = set()
        """Queues of which that was said since the wishes that are on their way were made."""

    # Agents.

    def join(self, name: str, ref: R, crew: Crew) -> None:
        """An agent is there, and rests."""
        self._workers[ref] = self._by_name[name] = Worker(name, ref, crew)

    def leave(self, ref: R) -> Worker[R] | None:
        """An agent is gone; what it had is told with it, and no longer runs."""
        worker = self._workers.pop(ref, None)
        if worker is not None:
            del self._by_name[worker.name]
            if worker.job is not None:
                self._running[worker.job.queue] -= 1
        return worker

    def at(self, ref: R) -> Worker[R] | None:
        """One agent."""
        return self._workers.get(ref)

    def busy(self) -> list[Worker[R]]:
        """Those that have a job."""
        return [worker for worker in self._workers.values() if worker.job is not None]

    # Jobs.

    def begin(self, job: Job) -> Worker[R] | None:
        """The agent for whom a job was claimed has it now; None when that has gone meanwhile."""
        worker = self._by_name.get(job.owner)
        if worker is None:
            return None
        worker.is_asked_for = False
        worker.job = job
        self._running[job.queue] += 1
        return worker

    def end(self, ref: R, token: int) -> Job | None:
        """An agent is done with its job, and rests; None when it has no job with this token."""
        worker = self._workers.get(ref)
        job = None if worker is None else worker.job
        if worker is None or job is None or job.token != token:
            return None
        worker.job = None
        self._running[job.queue] -= 1
        return job

    def elsewhere(self, jobs: Iterable[Job]) -> None:
        """These run in another program, or did before it died: their leases count."""
        for job in jobs:
            self._elsewhere[job.id] = job.queue
            self._running[job.queue] += 1

    def returned(self, jobs: Iterable[Job]) -> None:
        """They do so no longer."""
        for job in jobs:
            queue = self._elsewhere.pop(job.id, None)
            if queue is not None:
                self._running[queue] -= 1

    # Wishes.

    def hope(self, queues: Iterable[str]) -> None:
        """There may be work in these."""
        for queue in queues:
            self._hopeful.setdefault(queue, set()).clear()
            self._news.add(queue)

    def asks(self, lease_ms: int) -> list[Ask]:
        """Wishes for all that rest; they are asked for from now on, until `asked` tells how it went."""
        asks: list[Ask] = []
        self._news.clear()
        for crew, resting in self._resting():
            for queue in [one for one, without in self._hopeful.items() if crew.name not in without]:
                owners = resting[: self._room(queue, len(resting), asks)]
                if not owners or not (crew.queues is None or queue in crew.queues):
                    continue
                del resting[: len(owners)]
                for owner in owners:
                    owner.is_asked_for = True
                names = tuple(owner.name for owner in owners)
                asks.append(Ask(queue=queue, owners=names, lease_ms=lease_ms, kinds=crew.kinds, needs=_needs(crew)))
        return asks

    def asked(self, asks: Iterable[Ask], jobs: Iterable[Job]) -> None:
        """How many jobs came of these wishes: a queue that gave less than was asked has no more."""
        given = Counter(job.owner for job in jobs)
        for ask in asks:
            for owner in ask.owners:
                worker = self._by_name.get(owner)
                if worker is not None:
                    worker.is_asked_for = False
                    if not given[owner] and ask.queue not in self._news:
                        self._hopeful[ask.queue].add(worker.crew.name)

    def _resting(self) -> list[tuple[Crew, list[Worker[R]]]]:
        crews: dict[str, tuple[Crew, list[Worker[R]]]] = {}
        busy: Counter[str] = Counter()
        for worker in self._workers.values():
            resting = crews.setdefault(worker.crew.name, (worker.crew, []))[1]
            if worker.job is None and not worker.is_asked_for:
                resting.append(worker)
            else:
                busy[worker.crew.name] += 1
        return [(crew, resting[: max(0, crew.size - busy[name])]) for name, (crew, resting) in crews.items()]

    def _room(self, queue: str, wanted: int, asks: list[Ask]) -> int:
        limit = self._queues[queue].limit if queue in self._queues else None
        if limit is None:
            return wanted
        asked = sum(len(ask.owners) for ask in asks if ask.queue == queue)
        return max(0, min(wanted, limit - self._running[queue] - asked))


def _needs(crew: Crew) -> tuple[str, ...]:
    """All that jobs may need of such an agent: the subsets of its labels, as the store writes them."""
    found = [""]
    for label in sorted(crew.labels):
        found += [f"{one},{label}" if one else label for one in found]
    return tuple(found)
