"""The attempts that agents make: each begins here, is watched while it lasts, and ends here once, however it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.core.reason import Shutdown
from otpy.jobs.agents.agent import Agent, AsyncAgent
from otpy.jobs.agents.context import Flag
from otpy.jobs.agents.ear import Ear
from otpy.jobs.scheduler.gates import Gates
from otpy.jobs.scheduler.judge import Judge, crashed, late
from otpy.jobs.scheduler.undead import REAP, Undead
from otpy.jobs.verdict import not_begun, too_late

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from otpy.core.reason import Reason
    from otpy.jobs.agents.attempt import Report
    from otpy.jobs.model.claim import Settled
    from otpy.jobs.model.job import Job
    from otpy.jobs.scheduler.books import Books
    from otpy.jobs.scheduler.judge import End
    from otpy.jobs.scheduler.team import Worker
    from otpy.jobs.setup import Setup
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["Attempts"]

WELL = {"done": True, "failed": False}
"""What a report says of the breakers that its job depends on."""


class Attempts:
    """Part of the scheduler, and in its thread: it knows the agents by the scheduler's books, and kills them.

    Its own are the permits of breakers, the judgement of failures, and whose code runs on after its death.
    """

    def __init__(
        self,
        setup: Setup,
        system: System,
        books: Books[Ref[Agent]],
        settle: Callable[[Job, Settled], None],
        after: Callable[[float, object], object],
    ) -> None:
        """Nothing runs.

        Args:
            setup: that of the engine.
            system: its clock, its chance, and who is dead in it.
            books: the scheduler's.
            settle: told once for each attempt, how it is to be written down.
            after: has the scheduler get a message in so many seconds: `("look", agent)` is for `look`,
                `("ended", path)` for `have_ended`, `("given up", agent)` for `give_up`.
        """
        self._setup, self._system, self._books, self._settle, self._after = setup, system, books, settle, after
        self._gates = Gates(setup.kinds)
        self._judge = Judge(setup, system.clock.now, system.random.random)
        self._undead = Undead(system)

    def rooms(self) -> dict[str, int]:
        """How many of a kind may run just now, for its breakers."""
        return self._gates.rooms(self._system.clock.now())

    # While it lasts.

    def begin(self, worker: Worker[Ref[Agent]], job: Job) -> None:
        """Have an agent do the job that it was dealt, unless a breaker is open, or it is too late."""
        wall = self._setup.now()
        unbegun = self._unbegun(worker, job, wall)
        if unbegun is not None:
            self._books.end(worker.ref, job.id, job.token)
            self._settle(job, unbegun)
            return
        if self._setup.figures.is_on:
            self._setup.figures.begun(job, wall)
        kind = self._setup.kinds.get(job.kind)
        until = _until(job, wall)
        time = None if until is None else (until - wall) / 1_000
        worker.watch.begin(self._system.clock.now(), time, None if kind is None else kind.stall_timeout)
        worker.flag = Flag() if worker.ear is None else None
        self._watch(worker)
        agent: Any = AsyncAgent if worker.team.crew.place == "loop" else Agent
        permits = self._gates.permits(job) if worker.ear is None else ()  # a process has breakers of its own
        worker.ref.cast(agent.work, job, None if until is None else until / 1_000, worker.flag, permits)

    def _unbegun(self, worker: Worker[Ref[Agent]], job: Job, wall: int) -> Settled | None:
        """What becomes of one that is not begun; None for one that is."""
        if job.start_by is not None and job.start_by <= wall:
            return too_late(job)
        self._judge.begun(job)
        wait = self._gates.enter(job, worker.ref)
        return None if wait is None else self._judge.put_off(job, wait)._replace(start_by=job.start_by)

    def look(self, agent: Ref[Any]) -> None:
        """End one that has had its time."""
        worker = self._books.at(agent)
        if worker is None:
            return
        worker.watch.looked()
        overdue = worker.watch.overdue(self._system.clock.now())
        if worker.job is not None and overdue is not None:
            self.break_off(worker, late(worker.job, overdue, worker.watch.stall, self._setup.now()))
        elif worker.job is not None:
            self._watch(worker)

    def cancel(self, id: int, token: int) -> None:
        """One at hand ends; one that runs is told, and killed when it does not end in time.

        A coroutine is cancelled at once, where it awaits something.
        """
        job = self._books.drop(id, token)
        worker = self._books.doing(id, token)
        if job is not None:
            self._settle(job, self._judge.ended(job, "cancelled"))
        elif worker is not None and worker.team.crew.place == "loop":
            self.break_off(worker, "cancelled")
        elif worker is not None and not worker.watch.is_warned:
            self._warn(worker, id, token)

    def part(self, worker: Worker[Ref[Agent]], left: Callable[[], float]) -> None:
        """Tell who does a job that the program drains, and how long it may go on; any thread may call `left`."""
        if worker.ear is not None and worker.job is not None:
            worker.ear.cast(Ear.part, worker.job.id, worker.job.token, left())
        elif worker.flag is not None:
            worker.flag.left = left

    def cut_off(self, worker: Worker[Ref[Agent]], grace: float) -> None:
        """That time is over: a coroutine is cancelled at once, and others are killed when they do not leave in time.

        What they have not done is given back.
        """
        if worker.team.crew.place == "loop":
            self.break_off(worker, "given back")
        elif not worker.watch.is_warned:
            if worker.ear is not None and worker.job is not None:
                worker.ear.cast(Ear.leave, worker.job.id, worker.job.token)
            elif worker.flag is not None:
                worker.flag.is_leaving = True
            worker.watch.warn(self._system.clock.now(), grace, is_parting=True)
            self._watch(worker)

    @property
    def undead(self) -> list[Job]:
        """The jobs of dead agents whose code runs on."""
        return self._undead.jobs()

    # Its end.

    def report(self, agent: Ref[Any], id: int, token: int, report: Report) -> None:
        """An agent says how it went."""
        job = self._books.end(agent, id, token)
        if job is not None:
            self._timed(self._books.at(agent), job)
            self._gates.leave(id, token, is_well=WELL.get(report[0]))
            self._settle(job, self._judge.reported(job, report))

    def die(self, agent: Ref[Any], reason: Reason, *, is_open: bool) -> None:
        """An agent has ended with its job, which goes to another at once; as a crash, unless its crew was stopped."""
        worker, job = self._books.at(agent), self._books.leave(agent)
        if job is not None:
            self._timed(worker, job)
            is_told = isinstance(reason, Shutdown)
            self._gates.leave(job.id, job.token, is_well=None if is_told else False, is_cut=True)
            self._conclude(agent, job, "given back" if is_told or not is_open else crashed(reason))

    def break_off(self, worker: Worker[Any], end: End) -> None:
        """Kill an agent, whatever it does."""
        job = self._books.leave(worker.ref)
        worker.ref.kill()
        if job is not None:
            self._timed(worker, job)
            self._gates.leave(job.id, job.token, is_well=None if isinstance(end, str) else False, is_cut=True)
            self._conclude(worker.ref, job, end)

    def drop(self, id: int, token: int) -> Job | None:
        """Have nothing to do with a job any more, and stop whoever does it; nothing is written of it."""
        job = self._undead.drop(id, token)
        if job is not None:
            self._books.returned([job])
            return job
        worker = self._books.doing(id, token)
        if worker is None:
            return self._books.drop(id, token)
        self._gates.leave(id, token, is_well=None)
        worker.ref.kill()
        return self._books.leave(worker.ref)

    def give_back(self, jobs: Iterable[Job]) -> None:
        """These were claimed and not begun."""
        for job in jobs:
            self._settle(job, not_begun(job, self._setup.now()))

    # The dead whose code runs on.

    def have_ended(self, path: str) -> None:
        """The code of those with this path may have come to its end."""
        for agent in self._undead.at(path):
            if not self._undead.runs_on(agent):
                self.give_up(agent)
            elif self._undead.is_apart(agent):
                self._after(REAP, ("ended", path))

    def give_up(self, agent: Ref[Any]) -> None:
        """The job of a dead agent waits no longer for its code."""
        left = self._undead.take(agent)
        if left is not None:
            job, end = left
            self._books.returned([job])
            self._settle(job, self._judge.ended(job, end))

    def last(self) -> None:
        """There will be no further message: settle those whose code has ended."""
        for job, end in self._undead.last():
            self._settle(job, self._judge.ended(job, end))

    def _conclude(self, agent: Ref[Any], job: Job, end: End) -> None:
        """While its code runs on, no other attempt begins; it has the time of a lease for that."""
        if self._undead.runs_on(agent):
            self._after(self._undead.add(agent, job, end), ("ended", agent.path))
            self._after(self._setup.lease, ("given up", agent))
            self._books.elsewhere([job])
        else:
            self._settle(job, self._judge.ended(job, end))

    def _timed(self, worker: Worker[Any] | None, job: Job) -> None:
        """An attempt is over."""
        if self._setup.figures.is_on and worker is not None:
            self._setup.figures.ended(job, self._system.clock.now() - worker.watch.begun_at)

    def _watch(self, worker: Worker[Any]) -> None:
        """Have somebody look when something may have to be done."""
        seconds = worker.watch.look_in(self._system.clock.now())
        if seconds is not None:
            self._after(seconds, ("look", worker.ref))

    def _warn(self, worker: Worker[Any], id: int, token: int) -> None:
        """Tell a job that it was cancelled, and give it some time."""
        if worker.ear is not None:
            worker.ear.cast(Ear.cancel, id, token)
        elif worker.flag is not None:
            worker.flag.is_up = True
        worker.watch.warn(self._system.clock.now(), self._setup.grace)
        self._watch(worker)


def _until(job: Job, wall: int) -> int | None:
    """When an attempt that begins now is ended, by the store's time."""
    if job.timeout_ms is None:
        return job.deadline_at
    return wall + job.timeout_ms if job.deadline_at is None else min(job.deadline_at, wall + job.timeout_ms)
