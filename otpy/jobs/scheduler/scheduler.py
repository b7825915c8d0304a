"""The scheduler: it claims jobs for agents that rest, hears how they went, and never runs one."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from otpy.core.reason import Shutdown, is_clean
from otpy.core.text import shorten
from otpy.errors import CallTimeoutError
from otpy.events.threads import ZombieEnded
from otpy.jobs.agents.agent import Agent, AsyncAgent
from otpy.jobs.agents.beat import Beat
from otpy.jobs.agents.context import Flag
from otpy.jobs.agents.crew import Foreman
from otpy.jobs.agents.desk import Desk
from otpy.jobs.agents.ear import Ear
from otpy.jobs.decisions import MOST_SECONDS
from otpy.jobs.errors import StoreError
from otpy.jobs.model.claim import Settled
from otpy.jobs.model.job import LIVING
from otpy.jobs.retry import Retry
from otpy.jobs.scheduler.books import NEVER, Books
from otpy.jobs.scheduler.budgets import Budgets
from otpy.jobs.scheduler.gates import Gates
from otpy.jobs.verdict import Failed, after_failure, given_back, snoozed
from otpy.jobs.writer import Writer
from otpy.runtime.death import LAST_BREATH
from otpy.runtime.links import Down
from otpy.runtime.request import cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from otpy.core.reason import Reason
    from otpy.jobs.agents.attempt import Report
    from otpy.jobs.model.claim import Ask, Rate
    from otpy.jobs.model.job import Job
    from otpy.jobs.model.lead import Fence
    from otpy.jobs.scheduler.books import Worker
    from otpy.jobs.setup import Crew, Setup
    from otpy.jobs.store.protocol import Transaction
    from otpy.runtime.named import NamedRef
    from otpy.runtime.ref import Ref

__all__ = ["Exchange", "Scheduler"]

DEFAULT_BACKOFF = Retry().backoff

Note: TypeAlias = tuple[int, bytes | None, bytes | None]
"""The token of an attempt, its progress, its checkpoint."""

End: TypeAlias = Failed | Literal["cancelled", "given back"]
"""How an attempt ended that its agent says nothing of."""

TEXT = 2_000
"""Characters that are kept of how an agent ended."""

BREATH = 2 * LAST_BREATH
"""Seconds after which a killed agent has left its code, or is a zombie whose end will be told."""

REAP = 0.002
"""Seconds between two looks whether a killed process is gone."""

EARLY = 1e-6
"""Seconds that a timer may be early, as sums of floats go."""


class Exchange:
    """One round trip to the store: how attempts went, and which jobs are given in return."""

    def __init__(
        self, outcomes: list[Settled], asks: list[Ask], fence: Fence, notes: dict[int, Note], sent_at: float
    ) -> None:
        """To be done in the writer's thread; `sent_at` by the monotonic clock, from before that."""
        self.outcomes, self.asks, self.fence, self.notes, self.sent_at = outcomes, asks, fence, notes, sent_at
        self.accepted: list[bool] = []
        self.jobs: list[Job] | None = None
        self.rated: dict[str, Rate] = {}
        """Queues whose rate holds back what is ready."""

    def __call__(self, tx: Transaction) -> None:
        """Do it, in the writer's transaction; what was said before an attempt ended is kept before its end is."""
        for job, (token, progress, checkpoint) in self.notes.items():
            tx.note(job, token, progress, checkpoint)
        self.accepted = tx.settle(self.outcomes)
        paused = tx.paused()
        asks = [ask for ask in self.asks if ask.queue not in paused]
        self.jobs = tx.claim(asks, self.fence) if asks else []
        self.rated = {ask.queue: ask.rate for ask in asks if ask.rate is not None and tx.has_ready(ask.queue)}


class Scheduler(Desk):
    """Only a leader has one. One exchange at a time is on its way; what happens meanwhile goes with the next."""

    trap_exit = True

    def init(self, setup: Setup, fence: Fence) -> None:
        """Know nobody; agents introduce themselves."""
        self.setup, self.fence = setup, fence
        self.writer = self.system.ref(setup.actor(Writer, "writer"))
        self.beat = self.system.ref(setup.actor(Beat, "beat"))
        self.leader: NamedRef[Any] = self.system.ref(f"{setup.name}/leader")
        self.endings: NamedRef[Any] = self.system.ref(f"{setup.name}/endings")
        self.books: Books[Ref[Agent]] = Books(setup.queues, setup.kind_limits())
        self.gates = Gates(setup.kinds)
        self.rated: set[str] = set()
        self.budgets = Budgets(setup.queues)
        self.outcomes: list[Settled] = []
        self.notes: dict[int, Note] = {}
        self.exchanging: Exchange | None = None
        self.undead: dict[Ref[Any], tuple[Job, End]] = {}
        own = self.ref
        self.use(_attached(self.system.events.attach(lambda event: own.tell(("ended", event.path)), ZombieEnded)))
        self.beat.cast(Beat.forget)
        running, queues = self.writer.within(None).call(Writer.run, _survey)
        self.books.elsewhere(running)
        self.books.hope(queues)

    # From agents.

    @cast
    def join(self, agent: Ref[Any], crew: str, ear: Ref[Ear] | None) -> None:
        """An agent is there, and rests."""
        self.monitor(agent)
        self.books.join(agent.path, agent, self.books.crew(crew) or self.setup.crew(crew), ear)
        self._dismiss()
        self._deal()
        self._exchange()

    @cast
    def note(self, agent: Ref[Any], id: int, token: int, progress: bytes | None, checkpoint: bytes | None) -> None:
        """How far a job is; written with the next exchange."""
        worker = self.books.at(agent)
        if worker is None or worker.job is None or (worker.job.id, worker.job.token) != (id, token):
            return
        worker.heard_at = self.system.clock.now()
        _, before, kept = self.notes.get(id, (token, None, None))
        self.notes[id] = (token, before if progress is None else progress, kept if checkpoint is None else checkpoint)
        self._exchange()

    @cast
    def report(self, agent: Ref[Any], id: int, token: int, report: Report) -> None:
        """How an attempt went."""
        job = self.books.end(agent, id, token)
        if job is not None:
            self.gates.leave(id, token, is_well={"done": True, "failed": False}.get(report[0]))
            self.outcomes.append(self._settled(job, report))
            self._dismiss()
        self._deal()
        self._exchange()

    # From others.

    @cast
    def hope(self, queues: Iterable[str]) -> None:
        """There may be work in these."""
        self.books.hope(queues)
        self._exchange()

    @cast
    def returned(self, jobs: list[Job]) -> None:
        """Jobs whose leases ran out were taken back: those of dead programs, and ours when we have slept for long."""
        for job in jobs:
            self._drop(job.id, job.token)
        self.books.returned(jobs)
        self.hope({job.queue for job in jobs})

    @cast
    def crew(self, crew: Crew, is_open: bool) -> None:  # noqa: FBT001 - a cast, and it may come from anywhere
        """A crew has other numbers, or begins no further job."""
        self.outcomes += [given_back(job, self._now()) for job in self.books.set_crew(crew, is_open=is_open)]
        self._dismiss()
        self._deal()
        self._exchange()

    @cast
    def cancel(self, claims: Iterable[tuple[int, int]]) -> None:
        """These were cancelled: one at hand ends, one that runs is told, and killed when it does not end in time.

        A coroutine is cancelled at once, where it awaits something.
        """
        for claim in claims:
            job = self.books.drop(*claim)
            worker = self.books.doing(*claim)
            if job is not None:
                self.outcomes.append(_cancelled(job))
            elif worker is not None and worker.team.crew.place == "loop":
                self._break_off(worker, "cancelled")
            elif worker is not None and worker.kill_at == NEVER:
                self._warn(worker, *claim)
        self._exchange()

    @cast
    def lost(self, claims: Iterable[tuple[int, int]], is_known: bool) -> None:  # noqa: FBT001 - as `crew`
        """These are no longer ours, or nobody can say: their agents are stopped, and nothing is written of them.

        Of which nobody can say, they count as running until their leases end and the janitor takes them back.
        """
        for claim in claims:
            job = self._drop(*claim)
            if job is not None and not is_known:
                self.books.elsewhere([job])
        self._deal()
        self._exchange()

    @cast
    def exchanged(self, exchange: Exchange, error: Exception | None) -> None:
        """An exchange is kept, or the store failed and nothing of it is."""
        self.exchanging = None
        if error is not None and not isinstance(error, StoreError):
            raise error  # a mistake of ours: the next one would fail as well, and nobody see why nothing is done
        if error is not None:
            self.books.asked(exchange.asks, ())
            self.outcomes = exchange.outcomes + self.outcomes
            for job, note in exchange.notes.items():
                self.notes[job] = _later(note, self.notes.get(job, note))
            self.books.hope(ask.queue for ask in exchange.asks)
            self.send_after(0.1, "again")
            return
        if exchange.jobs is None:
            self.leader.tell("look")  # another leads
        ends = frozenset(one.id for one in exchange.outcomes if one.state not in LIVING)
        if ends:
            self.endings.tell(ends)
        jobs = exchange.jobs or []
        self.books.asked(exchange.asks, jobs)
        ended = [(one.id, one.token) for one in exchange.outcomes]
        self.beat.cast(Beat.change, jobs, ended, exchange.sent_at)
        self.outcomes += [given_back(job, self._now()) for job in self.books.take(jobs)]
        for queue, rate in exchange.rated.items():
            if queue not in self.rated:
                self.rated.add(queue)
                self.send_after(rate.period_ms / 1_000, ("rate", queue))
        self._deal()
        self._exchange()

    def terminate(self, reason: Reason) -> None:  # noqa: ARG002 - whatever it is
        """Agents have ended by now: write down how it went, and give back what was not begun.

        The code of a zombie still runs: its job is left to its lease.
        """
        self._await_brief()
        now, last = self._now(), self.exchanging
        outcomes = self.outcomes + [given_back(job, now) for job in self.books.drop_hands()]

        def end(tx: Transaction) -> None:
            """Whatever the last exchange has brought is given back; if it has failed, its outcomes are written here."""
            mine = [] if last is None else last.outcomes + [given_back(job, now) for job in last.jobs or ()]
            Exchange(mine + outcomes, [], self.fence, self.notes, 0.0)(tx)

        if outcomes or self.notes or last is not None:
            with suppress(StoreError, CallTimeoutError):  # their leases end by themselves
                self.writer.call(Writer.run, end)

    def handle_info(self, message: Any) -> None:
        """The end of an agent, a time that is over."""
        match message:
            case Down(target=agent, reason=reason):
                self._lost(agent, reason)
            case ("look", agent):
                self._look(agent)
            case ("ended", path):
                self._ended([agent for agent in self.undead if agent.path == path])
            case ("given up", agent):
                self._ended([agent], whatever=True)
            case ("rate", queue):
                self.rated.discard(queue)
                self.hope([queue])
            case "again":
                self._exchange()

    # What follows.

    def _exchange(self) -> None:
        if self.exchanging is not None:
            return
        self.books.rooms = self.gates.rooms(self.system.clock.now())
        asks = self.books.asks(round(self.setup.lease * 1_000))
        if not asks and not self.outcomes and not self.notes:
            return
        (outcomes, notes), self.outcomes, self.notes = (self.outcomes, self.notes), [], {}
        exchange = self.exchanging = Exchange(outcomes, asks, self.fence, notes, self.system.clock.now())
        own = self.ref
        self.writer.cast(Writer.submit, exchange, lambda error: own.cast(Scheduler.exchanged, exchange, error))

    def _deal(self) -> None:
        for worker in self.books.deal():
            job = worker.job
            assert job is not None  # noqa: S101 - it was just dealt
            self.budgets.begun(job, self.system.clock.now())
            wait = self.gates.enter(job, worker.ref)
            if wait is not None:
                self.books.end(worker.ref, job.id, job.token)
                self.outcomes.append(snoozed(job, wait, self._now()))
                continue
            now, kind = self.system.clock.now(), self.setup.kinds.get(job.kind)
            ends = [at for at in (job.timeout_ms and self._now() + job.timeout_ms, job.deadline_at) if at is not None]
            until = min(ends, default=None)
            worker.due_at = NEVER if until is None else now + (until - self._now()) / 1_000
            worker.stall = NEVER if kind is None or kind.stall_timeout is None else kind.stall_timeout
            worker.heard_at, worker.kill_at = now, NEVER
            worker.flag = Flag() if worker.ear is None else None
            self._watch(worker, now)
            seconds = None if until is None else until / 1_000
            agent: Any = AsyncAgent if worker.team.crew.place == "loop" else Agent
            worker.ref.cast(agent.work, job, seconds, worker.flag)

    def _watch(self, worker: Worker[Any], now: float) -> None:
        """Have somebody look when something may have to be done."""
        at = worker.next_at
        if at < worker.looks_at:
            worker.looks_at = at
            self.send_after(max(at - now, 0.0), ("look", worker.ref))

    def _look(self, agent: Ref[Any]) -> None:
        """Whether a job has had its time."""
        worker = self.books.at(agent)
        if worker is None or worker.job is None:
            if worker is not None:
                worker.looks_at = NEVER
            return
        worker.looks_at = NEVER
        now = self.system.clock.now() + EARLY
        if now >= worker.kill_at:
            self._break_off(worker, "cancelled")
        elif now >= worker.due_at:
            self._break_off(worker, Failed(failure="timeout", text=_late(worker.job, self._now())))
        elif now >= worker.heard_at + worker.stall:
            text = f"no progress for {worker.stall:g} s"
            self._break_off(worker, Failed(failure="stalled", text=text))
        else:
            self._watch(worker, now)

    def _warn(self, worker: Worker[Any], id: int, token: int) -> None:
        """Tell a job that it was cancelled, and give it some time."""
        if worker.ear is not None:
            worker.ear.cast(Ear.cancel, id, token)
        elif worker.flag is not None:
            worker.flag.is_up = True
        now = self.system.clock.now()
        worker.kill_at = now + self.setup.grace
        self._watch(worker, now)

    def _dismiss(self) -> None:
        """Have agents end that are more than there shall be."""
        for agent in self.books.surplus():
            agent.stop(block=False)

    def _lost(self, agent: Any, reason: Reason) -> None:
        """An agent has ended; what it did goes to another at once, unless its code still runs."""
        worker = self.books.at(agent)
        job = self.books.leave(agent)
        if worker is None:
            return
        if job is not None:
            self.gates.leave(job.id, job.token, is_well=None if isinstance(reason, Shutdown) else False)
        if job is None and not is_clean(reason) and worker.team.is_open:
            self.system.ref(f"{self.setup.name}/foreman/{worker.team.crew.name}").cast(Foreman.idled, str(reason))
        elif job is not None and (isinstance(reason, Shutdown) or not worker.team.is_open):
            self._conclude(agent, job, "given back")
        elif job is not None:
            self._conclude(agent, job, Failed(failure="crash", text=shorten(str(reason), TEXT)))
        self._deal()
        self._exchange()

    def _break_off(self, worker: Worker[Any], end: End) -> None:
        """Kill an agent, whatever it does."""
        job = self.books.leave(worker.ref)
        worker.ref.kill()
        if job is not None:
            self.gates.leave(job.id, job.token, is_well=None if end == "cancelled" else False)
            self._conclude(worker.ref, job, end)
        self._exchange()

    def _conclude(self, agent: Ref[Any], job: Job, end: End) -> None:
        """An attempt is over. While its code runs on, no other one begins; it has the time of a lease for that."""
        if self._runs_on(agent):
            self.undead[agent] = (job, end)
            self.books.elsewhere([job])
            self.send_after(REAP if agent in self.system.beyonds else BREATH, ("ended", agent.path))
            self.send_after(self.setup.lease, ("given up", agent))
        else:
            self._write_down(job, end)

    def _ended(self, agents: Iterable[Ref[Any]], *, whatever: bool = False) -> None:
        """The code of these may have come to its end; `whatever`: its job waits no longer for that."""
        for agent in agents:
            if agent not in self.undead:
                continue
            if not whatever and self._runs_on(agent):
                if agent in self.system.beyonds:
                    self.send_after(REAP, ("ended", agent.path))
            else:
                job, end = self.undead.pop(agent)
                self.books.returned([job])
                self._write_down(job, end)
        self._exchange()

    def _runs_on(self, agent: Ref[Any]) -> bool:
        """Whether its code does, though it is dead: on a thread, or in a process that is about to end."""
        return agent in self.system.undead or agent in self.system.beyonds

    def _write_down(self, job: Job, end: End) -> None:
        match end:
            case "cancelled":
                self.outcomes.append(_cancelled(job))
            case "given back":
                self.outcomes.append(given_back(job, self._now()))
            case _:
                self._failed(job, end)

    def _await_brief(self) -> None:
        """Coroutines and processes that were ended just now need a moment; a thread may need for ever, and is left."""
        until = monotonic() + BREATH
        brief = [one for one in self.undead if one.actor_class is AsyncAgent or one in self.system.beyonds]
        while monotonic() < until and any(self._runs_on(agent) for agent in brief):
            sleep(0.001)
        for agent, (job, end) in self.undead.items():
            if not self._runs_on(agent):
                self._write_down(job, end)

    def _drop(self, id: int, token: int) -> Job | None:
        """Have nothing to do with a job any more, and stop whoever does it."""
        for agent, (job, _) in list(self.undead.items()):
            if (job.id, job.token) == (id, token):
                del self.undead[agent]
                self.books.returned([job])
                return job
        worker = self.books.doing(id, token)
        if worker is None:
            return self.books.drop(id, token)
        self.gates.leave(id, token, is_well=None)
        worker.ref.kill()
        return self.books.leave(worker.ref)

    def _failed(self, job: Job, failed: Failed) -> None:
        backoff = self.setup.backoff_of(job.kind) or DEFAULT_BACKOFF
        chance = self.system.random.random()
        settled = after_failure(job, failed, backoff, chance=chance, now=self._now())
        self.outcomes.append(self.budgets.spent(job, settled, self.system.clock.now(), self._now()))
        if self.outcomes[-1].state == "ready":
            self.books.hope([job.queue])

    def _settled(self, job: Job, report: Report) -> Settled:
        match report:
            case ("done", bytes() as result):
                return Settled(id=job.id, token=job.token, state="done", result=result)
            case ("snoozed", float() as seconds) if 0 <= seconds < MOST_SECONDS:
                return snoozed(job, seconds, self._now())
            case ("cancelled" | "dead" as state, str() as why):
                return Settled(id=job.id, token=job.token, state=state, reason=why)
            case ("failed", dict() as facts):
                self._failed(job, Failed(**facts))
                return self.outcomes.pop()
        self._failed(job, Failed(failure="error", text="its agent's report has no meaning"))
        return self.outcomes.pop()

    def _now(self) -> int:
        return self.setup.now()


def _late(job: Job, now: int) -> str:
    """What its time was."""
    if job.timeout_ms is None or (job.deadline_at is not None and now >= job.deadline_at):
        return "not done before its deadline"
    return f"not done within {job.timeout_ms / 1_000:g} s"


def _later(note: Note, after: Note) -> Note:
    """What was said first and what was said after it, as one: of each kind the last word, of the same attempt."""
    token, progress, checkpoint = after
    if note[0] != token:
        return after
    return token, note[1] if progress is None else progress, note[2] if checkpoint is None else checkpoint


def _cancelled(job: Job) -> Settled:
    """The store knows why."""
    return Settled(id=job.id, token=job.token, state="cancelled", reason="cancelled")


@contextmanager
def _attached(detach: Callable[[], None]) -> Iterator[None]:
    """Until its actor ends."""
    try:
        yield
    finally:
        detach()


def _survey(tx: Transaction) -> tuple[list[Job], set[str]]:
    """What runs already, and where there may be work; a new leader begins with it."""
    looks = tx.queues()
    return tx.running(), {look.name for look in looks if look.numbers.get("ready")}
