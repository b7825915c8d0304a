"""What the scheduler knows: who rests, who does what, and what to ask the store for. No actor, no clock, no store."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Generic, TypeVar

from otpy.jobs.model.claim import Ask, Limits
from otpy.jobs.scheduler.hopes import Hopes
from otpy.jobs.scheduler.load import Load
from otpy.jobs.scheduler.team import Team, Worker
from otpy.jobs.scheduler.turns import Turns
from otpy.jobs.verdict import hand_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from otpy.jobs.agents.ear import Ear
    from otpy.jobs.model.job import Job
    from otpy.jobs.setup import Crew, Queue
    from otpy.runtime.ref import Ref

__all__ = ["Books"]

R = TypeVar("R")


class Books(Generic[R]):
    """Every agent rests or has one job; every running job of this program is at hand, or with one agent.

    `take`, `deal` and `end` are the life of a job here; `drop`, `drop_hands` and `leave` end it before its time.
    """

    def __init__(
        self, queues: Mapping[str, Queue], kind_limits: Mapping[str, int] | None = None, *, is_shared: bool = False
    ) -> None:
        """Know nobody. `is_shared`: others claim as well, so that the store has to count what limits leave."""
        self._queues = queues
        self._is_shared, self._kind_limits = is_shared, kind_limits or {}
        self._teams: dict[str, Team[R]] = {}
        self._workers: dict[R, Worker[R]] = {}
        self._by_owner: dict[str, Team[R]] = {}
        self._elsewhere: dict[int, Job] = {}
        self._turns = Turns()
        self._load = Load(queues, kind_limits or {})
        self._hopes = Hopes()
        self._plain: dict[str, tuple[int, tuple[str, ...]]] = {}
        """The queues without limits of each crew, and of how many queues that was known."""

    # Agents.

    def join(self, name: str, ref: R, crew: Crew, ear: Ref[Ear] | None = None) -> None:
        """An agent is there, and rests."""
        team = self._team(crew)
        self._by_owner[name] = team
        worker = self._workers[ref] = Worker(name, ref, team, ear)
        team.resting.append(worker)

    def set_crew(self, crew: Crew, *, is_open: bool) -> list[Job]:
        """It has other numbers, or begins nothing for now; returns what was claimed and will not be begun."""
        team = self._team(crew)
        team.crew, team.is_open = crew, is_open
        return [] if is_open else self._over(team.drop_hand())

    def surplus(self) -> list[R]:
        """Agents that rest and are more than there shall be; each is taken off the books."""
        found = []
        for team in self._teams.values():
            while team.resting and team.surplus > 0:
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

    def doing(self, id: int, token: int) -> Worker[R] | None:
        """Who does a job."""
        return next((worker for worker in self._workers.values() if worker.has(id, token)), None)

    def busy(self) -> list[Worker[R]]:
        """Those that have a job; any thread may ask."""
        return [worker for worker in self._workers.copy().values() if worker.job is not None]

    # Jobs.

    def take(self, jobs: Iterable[Job]) -> list[Job]:
        """These were claimed; returns those whose team is not there any more, or begins nothing by now."""
        strays = []
        for job in jobs:
            team = self._by_owner.get(job.owner)
            if team is None or not team.is_open:
                strays.append(job)
            else:
                team.hand.append(job)
                self._load.add(job)
                self._turns.given(job)
        return strays

    def deal(self) -> Iterator[tuple[Worker[R], Job]]:
        """Give what is at hand to agents that rest."""
        for team in self._teams.values():
            while team.hand and team.free:
                worker = team.resting.popleft()
                worker.job = job = team.hand.popleft()
                team.busy += 1
                yield worker, job

    def end(self, ref: R, id: int, token: int) -> Job | None:
        """An agent is done with a job, and rests; None when this is not what it has."""
        worker = self._workers.get(ref)
        if worker is None or not worker.has(id, token):
            return None
        worker.team.resting.append(worker)
        worker.team.ended += 1
        return self._done(worker)

    def drop(self, id: int, token: int) -> Job | None:
        """One that was claimed and shall not be begun; None when it is not at hand."""
        for team in self._teams.values():
            for job in team.hand:
                if (job.id, job.token) == (id, token):
                    team.hand.remove(job)
                    self._over([job])
                    return job
        return None

    def drop_hands(self) -> list[Job]:
        """All that was claimed and will not be begun."""
        return self._over([job for team in self._teams.values() for job in team.drop_hand()])

    def drop_queues(self, queues: Collection[str]) -> list[Job]:
        """What was claimed of these and will not be begun."""
        found = [job for team in self._teams.values() for job in team.hand if job.queue in queues]
        return [job for job in found if self.drop(job.id, job.token) is not None]

    def elsewhere(self, jobs: Iterable[Job]) -> None:
        """These run in another program, or did before it died: their leases count."""
        for job in jobs:
            self._elsewhere[job.id] = job
            self._load.add(job)

    def returned(self, jobs: Iterable[Job]) -> None:
        """They do so no longer."""
        found = [self._elsewhere.pop(job.id, None) for job in jobs]
        self._over([job for job in found if job is not None])

    # Wishes.

    def hope(self, queues: Iterable[str]) -> None:
        """There may be work in these."""
        self._hopes.add(queues)

    def hope_anew(self) -> None:
        """There may be work in all of them."""
        self._hopes.renew()

    def asks(self, lease_ms: int, rooms: Mapping[str, int]) -> list[Ask]:
        """Wishes for all that may be begun soon; `asked` tells how they went, before there are others.

        Those of a team share its agents: where the first queues have nothing, the next ones are asked at once.

        Args:
            lease_ms: how long a job is lent.
            rooms: how many of a kind may run just now, beside its limit; a kind that is not here may.
        """
        asks: list[Ask] = []
        self._load.rooms = rooms
        self._hopes.ask()
        for team in self._teams.values():
            owners = team.owners()
            team.ended = 0
            if owners:
                asks += [self._ask(queues, owners, team, lease_ms) for queues in self._wishes(team)]
        return asks

    def standing_asks(self, lease_ms: int) -> tuple[Ask, ...]:
        """What those who rest would wish, if there were anything; of queues and crews without limits.

        Where there is a limit somebody has to count, and that is done by `asks`.
        """
        return tuple(
            self._ask(queues, owners, team, lease_ms)
            for team in self._teams.values()
            if (owners := team.owners()) and not self._load.kind_rooms(team.crew.kinds)
            if (queues := self._unbounded(team.crew))
        )

    def asked(self, asks: Sequence[Ask], jobs: Sequence[Job]) -> None:
        """What came of these wishes. A queue for which no agent was left was not asked, and keeps its turn."""
        wishers = {owner: ask.owners for ask in asks for owner in ask.owners}
        given = Counter((job.queue, wishers[job.owner]) for job in jobs)
        left = {ask.owners: len(ask.owners) for ask in asks}
        for ask in asks:
            team = self._by_owner.get(ask.owners[0])
            for queue in ask.queues:
                if team is None or not left[ask.owners]:
                    break
                left[ask.owners] -= given[queue, ask.owners]
                self._hopes.had_turn(queue)
                if left[ask.owners]:
                    self._hopes.found_none(queue, team.crew.name)

    def _wishes(self, team: Team[R]) -> Iterator[tuple[str, ...]]:
        """Queues to ask, in their order: those without limits together, and each other one that has room."""
        for is_bounded, queues in groupby(self._hopes.queues(team.crew), self._load.is_bounded):
            if is_bounded:
                yield from ((queue,) for queue in queues if self._has_room(queue, team))
            else:
                yield tuple(queues)

    def _has_room(self, queue: str, team: Team[R]) -> bool:
        """Whether it may be asked; if not, what ends there gives hope anew."""
        if self._load.room(queue) == 0:
            self._hopes.found_none(queue, team.crew.name)
            return False
        return True

    def _unbounded(self, crew: Crew) -> tuple[str, ...]:
        """All queues without limits; the same tuple as long as there is no other."""
        number, queues = self._plain.get(crew.name, (0, ()))
        if number != len(self._hopes):
            queues = tuple(queue for queue in self._hopes.known(crew) if not self._load.is_bounded(queue))
            self._plain[crew.name] = len(self._hopes), queues
        return queues

    def _ask(self, queues: tuple[str, ...], owners: tuple[str, ...], team: Team[R], lease_ms: int) -> Ask:
        """A wish within all limits."""
        own = self._queues.get(queues[0]) if len(queues) == 1 else None
        return Ask(
            queues=queues,
            owners=owners,
            lease_ms=lease_ms,
            kinds=team.crew.kinds,
            needs=team.needs,
            limits=self._limits(own, team.crew) if self._is_shared else None,
            kind_rooms=self._load.kind_rooms(team.crew.kinds),
            room=self._load.room(queues[0]),
            tenant_limit=None if own is None else own.tenant_limit,
            tenant_counts={} if own is None else self._load.tenants(own.name),
            turns=self._turns.tenants(queues),
            weights={} if own is None else own.weights,
            streak=self._turns.streak(queues[0]),
            rate=None if own is None else own.rate,
        )

    def _limits(self, queue: Queue | None, crew: Crew) -> Limits | None:
        """What holds for all programs together; None where nothing has a limit."""
        kinds = {kind: self._kind_limits[kind] for kind in crew.kinds if kind in self._kind_limits}
        if queue is None:
            return Limits(kinds=kinds) if kinds else None
        return Limits(queue=queue.limit, tenant=queue.tenant_limit, kinds=kinds)

    # What follows.

    def _team(self, crew: Crew) -> Team[R]:
        team = self._teams.get(crew.name)
        if team is None:
            team = self._teams[crew.name] = self._by_owner[hand_of(crew.name)] = Team(crew)
        return team

    def _done(self, worker: Worker[R]) -> Job:
        job, worker.job = worker.job, None
        assert job is not None  # noqa: S101 - the caller has looked
        worker.team.busy -= 1
        self._over([job])
        return job

    def _over(self, jobs: list[Job]) -> list[Job]:
        """These run no longer: so there is room, where a limit was in the way."""
        for job in jobs:
            self._load.remove(job)
            if self._load.is_kind_limited(job.kind):
                self._hopes.renew()
            elif self._load.is_limited(job.queue):
                self._hopes.add([job.queue])
        return jobs
