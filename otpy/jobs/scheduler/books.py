"""What the scheduler knows: who rests, who does what, and where there may be work. No actor, no clock, no store."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from otpy.jobs.model.claim import Ask

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from otpy.jobs.agents.context import Flag
    from otpy.jobs.model.job import Job
    from otpy.jobs.setup import Crew, Queue

__all__ = ["NEVER", "Books", "Team", "Worker"]

R = TypeVar("R")

NEVER = inf

AHEAD = 64
"""Jobs that a team may have at hand at most, beside those that its agents do."""


@dataclass(slots=True)
class Worker(Generic[R]):
    """One agent."""

    name: str
    """Its path: what the store calls the owner."""
    ref: R
    team: Team[R]
    ear: Any = None
    """Whom to tell that its job was cancelled, when it has a process of its own."""
    job: Job | None = None
    """What it does."""
    flag: Flag | None = None
    """Set when that is cancelled."""
    due_at: float = NEVER
    """When its time is over."""
    stall: float = NEVER
    """Seconds that it may be silent."""
    heard_at: float = 0.0
    """When it began, or last made progress."""
    kill_at: float = NEVER
    """When it is killed, for it was cancelled."""
    looks_at: float = NEVER
    """When somebody looks at these: one timer serves an agent for all its jobs."""

    @property
    def next_at(self) -> float:
        """The first moment at which something may have to be done about it."""
        return min(self.due_at, self.heard_at + self.stall, self.kill_at)


@dataclass(slots=True)
class Team(Generic[R]):
    """The agents of one crew, and the jobs that were claimed for them."""

    crew: Crew
    resting: deque[Worker[R]] = field(default_factory=deque)
    busy: int = 0
    hand: deque[Job] = field(default_factory=deque)
    """Claimed, and not begun: where jobs are short, a commit would take longer than they do."""
    ended: int = 0
    """Jobs that ended since the last wishes: so many may be wanted before the next ones are answered."""
    is_open: bool = True
    """Whether it may begin jobs: not while it is stopped."""

    @property
    def free(self) -> int:
        """How many of its agents may begin a job."""
        if not self.is_open:
            return 0
        return max(0, min(len(self.resting), self.crew.size - self.busy))

    def owners(self) -> tuple[str, ...]:
        """For whom jobs are wished: agents that rest, then whoever of the team comes first."""
        if not self.is_open:
            return ()
        named = tuple(worker.name for worker, _ in zip(self.resting, range(self.free - len(self.hand)), strict=False))
        ahead = min(AHEAD, self.ended) - max(0, len(self.hand) - self.free)
        return named + (self.crew.name,) * ahead


class Books(Generic[R]):
    """Every agent rests or has one job; every running job of this program is at hand, or with one agent."""

    def __init__(self, queues: dict[str, Queue], kind_limits: Mapping[str, int] | None = None) -> None:
        """Know nobody."""
        self._queues = queues
        self._kind_limits = kind_limits or {}
        self._kinds: Counter[str] = Counter()
        self._tenants: dict[str, Counter[str]] = {}
        self._turns: dict[str, str] = {}
        self.rooms: Mapping[str, int] = {}
        """How many of a kind may run just now, beside its limit; a kind that is not here may."""
        self._teams: dict[str, Team[R]] = {}
        self._workers: dict[R, Worker[R]] = {}
        self._by_owner: dict[str, Team[R]] = {}
        self._running: Counter[str] = Counter()
        self._elsewhere: dict[int, Job] = {}
        self._hopeful: dict[str, set[str]] = {}
        """Queues in which something may be ready, the one that has waited longest first, and the teams for which there
        is nothing."""
        self._news: set[str] = set()
        """Queues of which that was said since the wishes that are on their way were made."""

    # Agents.

    def join(self, name: str, ref: R, crew: Crew, ear: Any = None) -> None:
        """An agent is there, and rests."""
        team = self._team(crew)
        self._by_owner[name] = team
        worker = self._workers[ref] = Worker(name, ref, team, ear)
        team.resting.append(worker)

    def set_crew(self, crew: Crew, *, is_open: bool) -> list[Job]:
        """It has other numbers, or begins nothing for now; returns what was claimed and will not be begun."""
        team = self._team(crew)
        team.crew, team.is_open = crew, is_open
        return [] if is_open else self._drop_hand(team)

    def surplus(self) -> list[R]:
        """Agents that rest and are more than there shall be; each is taken off the books."""
        found = []
        for team in self._teams.values():
            while team.resting and len(team.resting) + team.busy > team.crew.size + team.crew.spare:
                worker = team.resting.popleft()
                del self._workers[worker.ref], self._by_owner[worker.name]
                found.append(worker.ref)
        return found

    def leave(self, ref: R) -> Job | None:
        """An agent is gone; returns what it had, which runs no longer."""
        worker = self._workers.pop(ref, None)
        if worker is None:
            return None
        self._by_owner.pop(worker.name, None)
        if worker.job is None:
            worker.team.resting.remove(worker)
            return None
        return self._done(worker)

    def crew(self, name: str) -> Crew | None:
        """A crew as it is now."""
        team = self._teams.get(name)
        return None if team is None else team.crew

    def at(self, ref: R) -> Worker[R] | None:
        """One agent."""
        return self._workers.get(ref)

    # Jobs.

    def take(self, jobs: Iterable[Job]) -> list[Job]:
        """These were claimed; returns those whose team is not there any more."""
        strays = []
        for job in jobs:
            team = self._by_owner.get(job.owner)
            if team is None:
                strays.append(job)
            else:
                team.hand.append(job)
                self._count(job, 1)
                self._turns[job.queue] = job.tenant
        return strays

    def deal(self) -> Iterator[Worker[R]]:
        """Give what is at hand to agents that rest; each that is returned has its job."""
        for team in self._teams.values():
            while team.hand and team.free:
                worker = team.resting.popleft()
                worker.job = team.hand.popleft()
                team.busy += 1
                yield worker

    def end(self, ref: R, id: int, token: int) -> Job | None:
        """An agent is done with a job, and rests; None when this is not what it has."""
        worker = self._workers.get(ref)
        if worker is None or worker.job is None or (worker.job.id, worker.job.token) != (id, token):
            return None
        worker.team.resting.append(worker)
        worker.team.ended += 1
        return self._done(worker)

    def drop_hands(self) -> list[Job]:
        """What was claimed and will not be begun."""
        return [job for team in self._teams.values() for job in self._drop_hand(team)]

    def drop(self, id: int, token: int) -> Job | None:
        """One that was claimed and shall not be begun; None when it is not at hand."""
        for team in self._teams.values():
            for job in team.hand:
                if (job.id, job.token) == (id, token):
                    team.hand.remove(job)
                    self._count(job, -1)
                    return job
        return None

    def doing(self, id: int, token: int) -> Worker[R] | None:
        """Who does it."""
        for worker in self._workers.values():
            if worker.job is not None and (worker.job.id, worker.job.token) == (id, token):
                return worker
        return None

    def elsewhere(self, jobs: Iterable[Job]) -> None:
        """These run in another program, or did before it died: their leases count."""
        for job in jobs:
            self._elsewhere[job.id] = job
            self._count(job, 1)

    def returned(self, jobs: Iterable[Job]) -> None:
        """They do so no longer."""
        for job in jobs:
            there = self._elsewhere.pop(job.id, None)
            if there is not None:
                self._count(there, -1)

    def _done(self, worker: Worker[R]) -> Job:
        job, worker.job = worker.job, None
        assert job is not None  # noqa: S101 - the caller has looked
        worker.team.busy -= 1
        self._count(job, -1)
        return job

    def _count(self, job: Job, change: int) -> None:
        """Count one that runs, or does so no longer: then there is room, where a limit was in the way."""
        self._running[job.queue] += change
        self._kinds[job.kind] += change
        if job.tenant:
            self._tenants.setdefault(job.queue, Counter())[job.tenant] += change
        if change < 0 and self._limits(job.kind):
            self.hope(list(self._hopeful))
        elif change < 0 and job.queue in self._queues:
            self.hope([job.queue])

    # Wishes.

    def hope(self, queues: Iterable[str]) -> None:
        """There may be work in these."""
        for queue in queues:
            self._hopeful.setdefault(queue, set()).clear()
            self._news.add(queue)

    def asks(self, lease_ms: int) -> list[Ask]:
        """Wishes for all that may be begun soon; `asked` tells how they went, before there are others."""
        asks: list[Ask] = []
        reserved: Counter[str] = Counter()
        self._news.clear()
        for team in self._teams.values():
            owners = team.owners()
            team.ended = 0
            for queue in self._queues_of(team.crew):
                given = owners[: self._room(queue, len(owners), asks)]
                if given:
                    owners = owners[len(given) :]
                    asks.append(self._ask(queue, given, team.crew, lease_ms, reserved))
        return asks

    def asked(self, asks: Iterable[Ask], jobs: Iterable[Job]) -> None:
        """What came of these wishes: a queue that gave less than was asked has no more for that team."""
        given = Counter((job.queue, job.owner) for job in jobs)
        for ask in asks:
            if ask.queue in self._news or sum(given[ask.queue, owner] for owner in set(ask.owners)) >= len(ask.owners):
                continue
            team = self._by_owner.get(ask.owners[0])
            if team is not None:
                self._hopeful[ask.queue].add(team.crew.name)

    def _team(self, crew: Crew) -> Team[R]:
        team = self._teams.get(crew.name)
        if team is None:
            team = self._teams[crew.name] = self._by_owner[crew.name] = Team(crew)
        return team

    def _drop_hand(self, team: Team[R]) -> list[Job]:
        left = list(team.hand)
        team.hand.clear()
        for job in left:
            self._count(job, -1)
        return left

    def _queues_of(self, crew: Crew) -> list[str]:
        return [
            queue
            for queue, without in self._hopeful.items()
            if crew.name not in without and (crew.queues is None or queue in crew.queues)
        ]

    def _room(self, queue: str, wanted: int, asks: list[Ask]) -> int:
        own = self._queues.get(queue)
        if own is None:
            return wanted
        asked = [len(ask.owners) for ask in asks if ask.queue == queue]
        if own.tenant_limit is not None and asked:
            return 0  # two wishes at once would not know of each other's tenants
        return wanted if own.limit is None else max(0, min(wanted, own.limit - self._running[queue] - sum(asked)))

    def _limits(self, kind: str) -> list[int]:
        return [limits[kind] for limits in (self._kind_limits, self.rooms) if kind in limits]

    def _ask(self, queue: str, owners: tuple[str, ...], crew: Crew, lease_ms: int, reserved: Counter[str]) -> Ask:
        """A wish within all limits; what it may use up of a kind's is reserved from the other wishes."""
        own = self._queues.get(queue)
        limits = {kind: min(found) for kind in crew.kinds if (found := self._limits(kind))}
        rooms = {kind: limit - self._kinds[kind] - reserved[kind] for kind, limit in limits.items()}
        reserved.update({kind: max(0, min(room, len(owners))) for kind, room in rooms.items()})
        return Ask(
            queue=queue,
            owners=owners,
            lease_ms=lease_ms,
            kinds=crew.kinds,
            needs=_needs(crew),
            kind_rooms=rooms,
            tenant_limit=None if own is None else own.tenant_limit,
            tenant_counts=dict(self._tenants.get(queue, {})),
            after_tenant=self._turns.get(queue, ""),
            rate=None if own is None else own.rate,
        )


def _needs(crew: Crew) -> tuple[str, ...]:
    """All that jobs may need of such an agent: the subsets of its labels, as the store writes them."""
    found = [""]
    for label in sorted(crew.labels):
        found += [f"{one},{label}" if one else label for one in found]
    return tuple(found)
