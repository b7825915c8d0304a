"""The host's beat: it keeps the leases of all jobs that run here, whatever their agents do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.actors.gen_server import GenServer
from otpy.jobs.agents.desk import Desk
from otpy.jobs.submitted import store_failed
from otpy.jobs.writer import Writer
from otpy.runtime.request import cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from otpy.jobs.model.job import Job
    from otpy.jobs.setup import Setup
    from otpy.jobs.store.protocol import Transaction

__all__ = ["Beat"]


class Round:
    """One renewal of all leases, in the writer's thread; and a look at what was cancelled, by whatever program."""

    def __init__(self, held: list[tuple[int, int]], lease_ms: int, sent_at: float) -> None:
        """Of these (id, token). `sent_at` is from before the request, so a slow one is not trusted for too long."""
        self.held, self.lease_ms, self.sent_at = held, lease_ms, sent_at
        self.lost: list[tuple[int, int]] = []
        self.cancelled: list[tuple[int, int]] = []

    def __call__(self, tx: Transaction) -> None:
        """Do it."""
        self.lost = tx.renew(self.held, self.lease_ms)
        self.cancelled = tx.cancelled()


class Beat(GenServer):
    """Renews all in one transaction, several times a lease; an actor of its own, so that no other's work holds it up.

    What a renewal has granted is trusted by this program's own monotonic clock, and no longer: when the store does not
    answer, the jobs are stopped before their leases are over. It ends after the scheduler and its agents, for a job
    that is given time to end is still beaten for.
    """

    def init(self, setup: Setup) -> None:
        """Hold nothing yet."""
        self.setup = setup
        self.writer = self.system.ref(setup.actor(Writer, "writer"))
        self.scheduler = self.system.ref(setup.actor(Desk, "scheduler"))
        self.held: dict[int, tuple[int, float]] = {}
        self.is_out = False
        self.send_interval(setup.beat_seconds, "beat")

    @cast
    def change(self, begun: list[Job], ended: Iterable[tuple[int, int]], sent_at: float) -> None:
        """These run now, those no longer; the claim was asked for at `sent_at`."""
        for job, token in ended:
            held = self.held.get(job)
            if held is not None and held[0] == token:
                del self.held[job]
        self._let_go([(job.id, self.held[job.id][0]) for job in begun if job.id in self.held], is_known=True)
        until = self.setup.trusted_until(sent_at)
        self.held.update({job.id: (job.token, until) for job in begun})

    @cast
    def forget(self) -> None:
        """A scheduler begins, and the one before it has left no agent: the leases of what those had shall end."""
        self.held.clear()

    @cast
    def beaten(self, done: Round, error: Exception | None) -> None:
        """A renewal is kept, or the store failed."""
        self.is_out = False
        if store_failed(error):
            self.setup.figures.renew_failures += 1
            return
        until = self.setup.trusted_until(done.sent_at)
        for job, token in done.held:
            if self.held.get(job, (None, 0.0))[0] == token:
                self.held[job] = (token, until)
        if done.lost:
            lost = [(job, token) for job, token in done.lost if self.held.get(job, (None, 0.0))[0] == token]
            self._let_go(lost, is_known=True)
        if done.cancelled:
            self.scheduler.cast(Desk.cancel, done.cancelled)

    def handle_info(self, message: object) -> None:
        """The time has come."""
        now = self.system.clock.now()
        if message == "check":
            self._let_go([(job, token) for job, (token, until) in self.held.items() if until <= now], is_known=False)
        elif message == "beat" and self.held:
            first = min(until for _, until in self.held.values())
            if first < now + self.setup.beat_seconds:  # to the moment, for another program may begin the job soon after
                self.send_after(max(first - now, 0.0), "check")
            if not self.is_out:
                self._beat(lambda: None)

    @cast
    def renew(self, then: Callable[[], object]) -> None:
        """Renew at once; `then` is called, in the writer's thread, when that is kept, and not when the store fails."""
        if self.held:
            self._beat(then)
        else:
            then()

    def _beat(self, then: Callable[[], object]) -> None:
        held = [(job, token) for job, (token, _) in self.held.items()]
        done, own = Round(held, self.setup.lease_ms, self.system.clock.now()), self.ref
        self.is_out = True

        def kept(error: Exception | None) -> None:
            own.cast(Beat.beaten, done, error)
            if error is None:
                then()

        self.writer.cast(Writer.submit, done, kept)

    def _let_go(self, claims: list[tuple[int, int]], *, is_known: bool) -> None:
        """These are no longer this program's: their agents are stopped, and what they say is not kept."""
        for job, _ in claims:
            del self.held[job]
        self.setup.figures.leases_lost += len(claims)
        if claims:
            self.scheduler.cast(Desk.lost, claims, is_known)
