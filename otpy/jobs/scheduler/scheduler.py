"""The scheduler: it claims jobs for agents that rest, hears how they went, and never runs one."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from otpy.actors.gen_server import GenServer
from otpy.core.reason import Shutdown
from otpy.core.text import safe_str
from otpy.errors import CallTimeoutError
from otpy.jobs.agents.beat import Beat
from otpy.jobs.errors import StoreError
from otpy.jobs.model import LIVING, Settled
from otpy.jobs.retry import Retry
from otpy.jobs.scheduler.books import Books
from otpy.jobs.scheduler.budgets import Budgets
from otpy.jobs.scheduler.gates import Gates
from otpy.jobs.verdict import Failed, after_failure, given_back, snoozed
from otpy.jobs.writer import Writer
from otpy.runtime.links import Down
from otpy.runtime.request import cast

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otpy.core.reason import Reason
    from otpy.jobs.agents.agent import Agent, Report
    from otpy.jobs.model import Ask, Fence, Job
    from otpy.jobs.setup import Crew, Setup
    from otpy.jobs.store.protocol import Transaction
    from otpy.runtime.named import NamedRef
    from otpy.runtime.ref import Ref

__all__ = ["Exchange", "Scheduler"]

DEFAULT_BACKOFF = Retry().backoff


class Exchange:
    """One round trip to the store: how attempts went, and which jobs are given in return."""

    def __init__(self, outcomes: list[Settled], asks: list[Ask], fence: Fence) -> None:
        """To be done in the writer's thread."""
        self.outcomes, self.asks, self.fence = outcomes, asks, fence
        self.accepted: list[bool] = []
        self.jobs: list[Job] | None = None

    def __call__(self, tx: Transaction) -> None:
        """Do it, in the writer's transaction."""
        self.accepted = tx.settle(self.outcomes)
        paused = tx.paused()
        asks = [ask for ask in self.asks if ask.queue not in paused]
        self.jobs = tx.claim(asks, self.fence) if asks else []


class Scheduler(GenServer):
    """Only a leader has one. One exchange at a time is on its way; what happens meanwhile goes with the next."""

    trap_exit = True

    def init(self, setup: Setup, fence: Fence) -> None:
        """Know nobody; agents introduce themselves."""
        self.setup, self.fence = setup, fence
        self.writer = self.system.ref(setup.actor(Writer, "writer"))
        self.beat = self.system.ref(setup.actor(Beat, "beat"))
        self.leader: NamedRef[Any] = self.system.ref(f"{setup.name}/leader")
        self.endings: NamedRef[Any] = self.system.ref(f"{setup.name}/endings")
        self.janitor: NamedRef[Any] = self.system.ref(f"{setup.name}/janitor")
        self.books: Books[Ref[Agent]] = Books(setup.queues, setup.kind_limits())
        self.gates = Gates(setup.kinds)
        self.budgets = Budgets(setup.queues)
        self.outcomes: list[Settled] = []
        self.is_exchanging = False
        running, queues = self.writer.within(None).call(Writer.run, _survey)
        self.books.elsewhere(running)
        self.books.hope(queues)

    # From agents.

    @cast
    def join(self, agent: Ref[Any], crew: Crew) -> None:
        """An agent is there, and rests."""
        self.monitor(agent)
        self.books.join(agent.path, agent, crew)
        self._exchange()

    @cast
    def report(self, agent: Ref[Any], id: int, token: int, report: Report) -> None:
        """How an attempt went."""
        job = self.books.end(agent, id, token)
        if job is not None:
            self.gates.leave(id, token, is_well={"done": True, "failed": False}.get(report[0]))
            self.outcomes.append(self._settled(job, report))
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
        """Jobs of dead programs were taken back."""
        self.books.returned(jobs)
        self.hope({job.queue for job in jobs})

    @cast
    def exchanged(self, exchange: Exchange, error: Exception | None) -> None:
        """An exchange is kept, or the store failed and nothing of it is."""
        self.is_exchanging = False
        if error is not None:
            self.books.asked(exchange.asks, ())
            self.outcomes = exchange.outcomes + self.outcomes
            self.books.hope(ask.queue for ask in exchange.asks)
            self.send_after(0.1, "again")
            return
        if exchange.jobs is None:
            self.leader.tell("look")  # another leads
        ends = frozenset(one.id for one in exchange.outcomes if one.state not in LIVING)
        if ends:
            self.endings.tell(ends)
        dues = [one.run_at for one in exchange.outcomes if one.state == "scheduled" and one.run_at is not None]
        if dues:
            self.janitor.tell(("due", min(dues)))
        jobs = exchange.jobs or []
        self.books.asked(exchange.asks, jobs)
        self.beat.cast(Beat.change, jobs, [(one.id, one.token) for one in exchange.outcomes])
        self.outcomes += [given_back(job, self._now()) for job in self.books.take(jobs)]
        self._deal()
        self._exchange()

    def terminate(self, reason: Reason) -> None:  # noqa: ARG002 - whatever it is
        """Agents have ended by now: write down how it went, and give back what was not begun."""
        self.outcomes += [given_back(job, self._now()) for job in self.books.drop_hands()]
        if self.outcomes:
            with suppress(StoreError, CallTimeoutError):  # their leases end by themselves
                self.writer.call(Writer.run, Exchange(self.outcomes, [], self.fence))

    def handle_info(self, message: Any) -> None:
        """The end of an agent, a time that is over."""
        match message:
            case Down(target=agent, reason=reason):
                self._lost(agent, reason)
            case ("timeout", agent, id, token):
                self._too_long(agent, id, token)
            case "again":
                self._exchange()

    # What follows.

    def _exchange(self) -> None:
        if self.is_exchanging:
            return
        self.books.rooms = self.gates.rooms(self.system.clock.now())
        asks = self.books.asks(round(self.setup.lease * 1_000))
        if not asks and not self.outcomes:
            return
        self.is_exchanging = True
        outcomes, self.outcomes = self.outcomes, []
        exchange = Exchange(outcomes, asks, self.fence)
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
            if job.timeout_ms is not None:
                self.send_after(job.timeout_ms / 1_000, ("timeout", worker.ref, job.id, job.token))
            worker.ref.cast(worker.ref.actor_class.work, job)

    def _lost(self, agent: Any, reason: Reason) -> None:
        job = self.books.leave(agent)
        if job is not None:
            self.gates.leave(job.id, job.token, is_well=None if isinstance(reason, Shutdown) else False)
        if job is not None and isinstance(reason, Shutdown):
            self.outcomes.append(given_back(job, self._now()))
        elif job is not None:
            self._failed(job, Failed(failure="crash", text=safe_str(reason)))
        self._deal()
        self._exchange()

    def _too_long(self, agent: Ref[Agent], id: int, token: int) -> None:
        worker = self.books.at(agent)
        job = None if worker is None else worker.job
        if job is None or (job.id, job.token) != (id, token):
            return
        self.books.leave(agent)
        self.gates.leave(id, token, is_well=False)
        agent.kill()
        seconds = (job.timeout_ms or 0) / 1_000
        self._failed(job, Failed(failure="timeout", text=f"not done within {seconds:g} s"))
        self._exchange()

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
            case ("snoozed", float() as seconds):
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


def _survey(tx: Transaction) -> tuple[list[Job], set[str]]:
    """What runs already, and where there may be work; a new leader begins with it."""
    looks = tx.queues()
    return tx.running(), {look.name for look in looks if look.numbers.get("ready")}
