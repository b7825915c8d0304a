"""The scheduler: it claims jobs for agents that rest, hears how they went, and never runs one.

What it knows lies in three parts, each of which one class owns: `Books` (who rests, who does what, what to ask for),
`Attempts` (what begins, lasts and ends) and `Outbox` (what is to be written). Here are the messages: one changes those
parts, then `_go_on` deals what is at hand to who rests, and sends the next exchange.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from otpy.core.reason import is_clean
from otpy.errors import CallError
from otpy.events.threads import ZombieEnded
from otpy.jobs.agents.beat import Beat
from otpy.jobs.agents.crew import Foreman
from otpy.jobs.errors import StoreError
from otpy.jobs.model.job import LIVING
from otpy.jobs.scheduler.attempts import Attempts
from otpy.jobs.scheduler.books import Books
from otpy.jobs.scheduler.exchange import Exchange, Outbox, Survey
from otpy.jobs.scheduler.leaving import Leaving
from otpy.jobs.scheduler.rights import Rights
from otpy.jobs.scheduler.standing import Standing
from otpy.jobs.submitted import store_failed
from otpy.jobs.told import Telling
from otpy.jobs.verdict import not_begun
from otpy.jobs.writer import Writer
from otpy.runtime.links import Down
from otpy.runtime.request import cast

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from otpy.core.reason import Reason
    from otpy.jobs.agents.agent import Agent
    from otpy.jobs.agents.attempt import Report
    from otpy.jobs.agents.ear import Ear
    from otpy.jobs.model.claim import Ask, Settled
    from otpy.jobs.model.host import Station
    from otpy.jobs.model.job import Job
    from otpy.jobs.model.lead import Fence
    from otpy.jobs.setup import Crew, Setup
    from otpy.runtime.named import NamedRef
    from otpy.runtime.ref import Ref

__all__ = ["Scheduler"]

HELD = 1.0
"""Seconds between two looks whether breakers let more begin."""

AGAIN = 0.1
"""Seconds after a failure of the store before the next exchange: the writer has a back-off, and refuses until then."""


class Scheduler(Leaving):
    """Who works has one: the leader, or on a server every program. Agents introduce themselves, also to a new one."""

    trap_exit = True

    def init(self, setup: Setup, fence: Fence | None) -> None:
        """Know nobody, but what runs elsewhere and where there may be work.

        Without a leader's fence it claims for a station, beside others, and is told which one that is.
        """
        self.setup = setup
        self.writer = self.system.ref(setup.actor(Writer, "writer"))
        self.beat = self.system.ref(setup.actor(Beat, "beat"))
        self.rights = Rights(self.ref, setup.name, fence, setup.version)
        self.books: Books[Ref[Agent]] = Books(setup.queues, setup.kind_limits(), is_shared=self.rights.is_shared)
        self.endings: NamedRef[Any] = self.system.ref(f"{setup.name}/endings")
        self.attempts = Attempts(setup, self.system, self.books, self._settle, self.send_after)
        self.outbox = Outbox()
        self.telling, self.path = Telling(setup, self.system.events.emit), self.ref.path
        self.standing: Standing | None = None
        """What the writer may grant when there is something, unless an exchange ends it first."""
        self.rated: set[str] = set()
        """Queues held back by their rate, for which there is a timer."""
        self.is_held = False
        """Whether breakers hold back kinds; nobody tells when that is over, so there is a timer, too."""
        own = self.ref
        heard = self.use(ExitStack())
        heard.callback(self.system.events.attach(lambda event: own.tell(("ended", event.path)), ZombieEnded))
        self.beat.cast(Beat.forget)
        self.is_surveyed = False
        """Whether it knows what runs elsewhere: nothing is claimed before that."""
        self._survey()

    # From agents and crews.

    @cast
    def join(self, agent: Ref[Any], crew: str, ear: Ref[Ear] | None) -> None:
        """An agent is there, and rests."""
        self.monitor(agent)
        self.books.join(self.rights.named(agent.path), agent, self.books.crew(crew) or self.setup.crew(crew), ear)
        self._go_on()

    @cast
    def note(self, agent: Ref[Any], id: int, token: int, progress: bytes | None, checkpoint: bytes | None) -> None:
        """How far a job is; written with the next exchange."""
        worker = self.books.at(agent)
        if worker is not None and worker.has(id, token):
            worker.watch.heard_at = self.system.clock.now()
            self.outbox.note(id, token, progress, checkpoint)
            self.exchange()

    @cast
    def report(self, agent: Ref[Any], id: int, token: int, report: Report) -> None:
        """How an attempt went."""
        self.attempts.report(agent, id, token, report)
        self._go_on()

    @cast
    def crew(self, crew: Crew, is_open: bool) -> None:  # noqa: FBT001 - a cast, and it may come from anywhere
        """A crew has other numbers, or begins no further job."""
        self.attempts.give_back(self.books.set_crew(crew, is_open=is_open))
        self._go_on()

    # From the membership, the janitor, the beat, and whoever enqueues or cancels.

    @cast
    def post(self, station: Station | None) -> None:
        """Claim for this station, which may have become another one's; for None begin nothing more."""
        self.rights.give(station)
        if station is None:
            self.attempts.give_back(self.books.drop_hands())
        else:
            self.books.hope_anew()
        self._go_on()

    @cast
    def hope(self, queues: Iterable[str]) -> None:
        """There may be work in these."""
        self.books.hope(queues)
        self.exchange()

    @cast
    def called(self) -> None:
        """Another program says that there is work somewhere."""
        self.books.hope_anew()
        self.exchange()

    @cast
    def returned(self, jobs: list[Job]) -> None:
        """Jobs whose leases ran out were taken back: those of dead programs, and ours when we have slept for long."""
        for job in jobs:
            self.attempts.drop(job.id, job.token)
        self.books.returned(jobs)
        self.hope({job.queue for job in jobs})

    @cast
    def cancel(self, claims: Iterable[tuple[int, int]]) -> None:
        """These were cancelled."""
        for claim in claims:
            self.attempts.cancel(*claim)
        self.exchange()

    @cast
    def pause(self, queues: Collection[str]) -> None:
        """These are paused: what of them is at hand is given back."""
        self.attempts.give_back(self.books.drop_queues(queues))
        self.exchange()

    @cast
    def lost(self, claims: Iterable[tuple[int, int]], is_known: bool) -> None:  # noqa: FBT001 - as `crew`
        """These are no longer ours, or nobody can say: their agents are stopped, and nothing is written of them.

        Of which nobody can say, they count as running until their leases end and the janitor takes them back. Where
        others claim as well the store counts them.
        """
        for claim in claims:
            job = self.attempts.drop(*claim)
            if job is not None and not is_known and not self.rights.is_shared:
                self.books.elsewhere([job])
        self._go_on()

    # From the writer, and the system.

    @cast
    def surveyed(self, survey: Survey, error: Exception | None) -> None:
        """Begin with what runs elsewhere and where there may be work; a store that has failed is asked again."""
        if store_failed(error):
            self.send_after(AGAIN, "survey")
            return
        self.is_surveyed = True
        self.books.elsewhere(survey.running)
        self.books.hope(survey.queues | {kind.queue for kind in self.setup.kinds.values()})
        self._go_on()

    @cast
    def exchanged(self, exchange: Exchange, error: Exception | None) -> None:
        """An exchange is kept, or the store failed and nothing of it is."""
        if store_failed(error):
            self.outbox.failed()
            self.books.hope(queue for ask in exchange.asks for queue in ask.queues)
            self.send_after(AGAIN, "again")
            return
        self.outbox.kept()
        self.standing = None
        self._tell_others(exchange)
        for queue, rate in exchange.rated.items():
            if queue not in self.rated:
                self.rated.add(queue)
                self.send_after(rate.period_ms / 1_000, ("rate", queue))
        self._take(exchange.asks, exchange.jobs)

    @cast
    def granted(self, standing: Standing) -> None:
        """What stood with the writer was granted, and is kept."""
        self.standing = None
        self._tell_others(standing)
        self._take(standing.granted, standing.jobs)

    def handle_info(self, message: Any) -> None:
        """The end of an agent, or a time that is over."""
        match message:
            case Down(target=agent, reason=reason):
                self._gone(agent, reason)
            case ("look", agent):
                self.attempts.look(agent)
            case ("ended", path):
                self.attempts.have_ended(path)
            case ("given up", agent):
                self.attempts.give_up(agent)
            case ("rate", queue):
                self.rated.discard(queue)
                self.books.hope([queue])
            case "survey":
                self._survey()
            case "part" if self.parting is not None:
                self.part(self.parting)
            case "held":
                self.is_held = False
                self.books.hope_anew()
        self.exchange()

    def terminate(self, reason: Reason) -> None:  # noqa: ARG002 - whatever it is
        """Agents have ended by now: write down how it went, and give back what was not begun.

        The code of a zombie still runs: its job is left to its lease.
        """
        self.attempts.last()
        self.attempts.give_back(self.books.drop_hands())
        self.tell_parting()
        now = self.setup.now()
        last = self.outbox.last(lambda job: not_begun(job, now), self.standing)
        if last is not None and self.outbox.has_words:
            try:
                self.telling.written(self.writer.call(Writer.run, last))
            except (StoreError, CallError):  # their leases end by themselves
                return
        elif last is not None:  # of its wish alone nobody hears: a store that hangs must not keep the lead from its end
            self.writer.cast(Writer.submit, last, lambda _: None)
        if self.parting is not None:
            self.parting.drain.done()  # all has been given back

    # What follows.

    def _survey(self) -> None:
        """An outage of the store is waited out in here: who starts it again has a limit for that."""
        survey, own = Survey(is_shared=self.rights.is_shared), self.ref
        self.writer.cast(Writer.submit, survey, lambda error: own.cast(Scheduler.surveyed, survey, error))

    def _go_on(self) -> None:
        """Begin what can be, then say and ask what there is."""
        for agent in self.books.surplus():
            agent.stop(block=False)
        for worker, job in self.books.deal():
            self.attempts.begin(worker, job)
        self.exchange()

    def exchange(self) -> None:
        """Send what there is to say and to ask, unless an exchange is out: the end of that one calls this again."""
        self.look_back()
        if self.outbox.is_out or not self.is_surveyed:
            return
        rooms = self.attempts.rooms()
        if rooms and not self.is_held:
            self.is_held = True
            self.send_after(HELD, "held")
        asks = [] if self.rights.now is None else self.books.asks(self.setup.lease_ms, rooms)
        exchange, own = self.outbox.send(asks, self.rights.now, self.system.clock.now(), self.standing), self.ref
        if exchange is not None:
            self.writer.cast(Writer.submit, exchange, lambda error: own.cast(Scheduler.exchanged, exchange, error))
        else:
            self._stand()

    def _stand(self) -> None:
        """There is nothing to do: let the writer have the wishes of those who rest."""
        asks, before, own = self.books.standing_asks(self.setup.lease_ms), self.standing, self.ref
        if self.rights.now is None:
            asks = ()
        if not before.is_as(asks, self.rights.now) if before is not None else asks:
            self.standing = Standing(
                asks, self.rights.now, before, is_wanted=own.is_alive, then=lambda one: own.cast(Scheduler.granted, one)
            )
            self.writer.cast(Writer.stand, self.standing)

    def _take(self, asks: Sequence[Ask], jobs: list[Job] | None) -> None:
        """What came of wishes, and what follows; None when the lead, or the program, is over by the store's clock.

        That may be set back before the leader looks, and the lead go on: then they are wished for again.
        """
        if jobs is None:
            self.books.hope(queue for ask in asks for queue in ask.queues)
            self.send_after(AGAIN, "again")
        else:
            self.books.asked(asks, jobs)
            self.attempts.give_back(self.books.take(jobs))
            if self.rights.now is None:
                self.attempts.give_back(self.books.drop_hands())
            self._go_on()

    def _settle(self, job: Job, settled: Settled) -> None:
        """An attempt is over, and is written down with the next exchange; whoever is free may have what is ready."""
        if self.parting is not None:
            self.parting.count(settled, has_checkpoint=self.outbox.has_checkpoint(job.id))
        self.outbox.settle(settled)
        self.telling.decided(job, settled, self.path)
        if settled.state == "ready":
            self.books.hope([job.queue])

    def _gone(self, agent: Any, reason: Reason) -> None:
        """An agent has ended: of its job, when it had one; else of the machinery, which its foreman restrains."""
        worker = self.books.at(agent)
        if worker is None:
            return
        team = worker.team
        if worker.job is not None:
            self.attempts.die(agent, reason, is_open=team.is_open)
        else:
            self.books.leave(agent)
            if team.is_open and not is_clean(reason):
                foreman = self.system.ref(self.setup.actor(Foreman, f"foreman/{team.crew.name}"))
                foreman.cast(Foreman.idled, str(reason))
        self._go_on()

    def _tell_others(self, exchange: Exchange | Standing) -> None:
        """Who has to know of it now that it is kept."""
        if exchange.jobs is None:
            self.rights.refused(exchange.right)
        outcomes = exchange.outcomes if isinstance(exchange, Exchange) else []
        if isinstance(exchange, Exchange):
            self.telling.written(exchange.written)
        self.beat.cast(Beat.change, exchange.jobs or [], [one[:2] for one in outcomes], exchange.sent_at)
        ends = frozenset(one.id for one in outcomes if one.state not in LIVING)
        if ends:
            self.endings.tell(ends)
