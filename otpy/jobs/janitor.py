"""The janitor: what is due becomes ready, what is overdue ends, and what dead programs have left is taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.actors.gen_server import GenServer
from otpy.jobs.agents.beat import Beat
from otpy.jobs.alarm import Alarm
from otpy.jobs.awake import Awake
from otpy.jobs.scheduler.scheduler import Scheduler
from otpy.jobs.submitted import store_failed
from otpy.jobs.told import ended
from otpy.jobs.writer import Writer
from otpy.runtime.request import cast

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otpy.jobs.model.job import Job
    from otpy.jobs.model.lead import Fence
    from otpy.jobs.setup import Setup
    from otpy.jobs.store.protocol import Transaction
    from otpy.runtime.named import NamedRef

__all__ = ["Janitor"]

LIMIT = 1_000
"""Rows of one round: others have their turn between two."""
UPKEEP = 1 / 4
"""The part of a lease between two looks for what dead programs have left."""
AGE_MS = 60_000
"""What waits so long has its priority raised by one."""


class Round:
    """What is due, in the writer's thread."""

    def __init__(self, fence: Fence) -> None:
        """Of this leader."""
        self.fence = fence
        self.expired: list[Job] = []
        """As they are now."""
        self.due: int | None = None
        self.is_over = False

    def __call__(self, tx: Transaction) -> None:
        """Do it."""
        self.is_over = tx.promote(LIMIT, self.fence) is None
        self.expired = [job for one in tx.expire(LIMIT, self.fence) or () if (job := tx.get(one)) is not None]
        self.due = tx.due()


class Upkeep:
    """What has been left behind, in the writer's thread."""

    def __init__(self, fence: Fence, keep_ms: int, lease_ms: int) -> None:
        """Of this leader; what ended so long ago is forgotten, and no lease lasts longer than one."""
        self.fence, self.keep_ms, self.lease_ms = fence, keep_ms, lease_ms
        self.rescued: list[Job] = []
        self.left: list[Job | None] = []
        """The same ones as they are now."""
        self.is_full = False

    def __call__(self, tx: Transaction) -> None:
        """Do it; each row that is taken back is one whose lease is over, so that two who do it do no harm."""
        self.rescued = tx.rescue(0, LIMIT, self.fence, self.lease_ms) or []
        self.left = [tx.get(job.id) for job in self.rescued]
        tx.age(AGE_MS, LIMIT, self.fence)
        pruned = tx.prune(tx.now - self.keep_ms, LIMIT)
        self.is_full = max(pruned, len(self.rescued)) >= LIMIT


class Janitor(GenServer):
    """A supervised actor and no job, for who would rescue that? Nothing it holds outlives it.

    It sleeps until the next time that is written down; who writes down an earlier one in this program says so, and for
    what other programs write the lookout has it look. A failure of the store is waited out in here.
    """

    def init(self, setup: Setup, fence: Fence, calm: float = 0.0) -> None:
        """Begin at once; take nothing back for so many seconds, for others may have been asleep as well."""
        self.setup, self.fence = setup, fence
        self.writer = self.system.ref(setup.actor(Writer, "writer"))
        self.beat = self.system.ref(setup.actor(Beat, "beat"))
        self.scheduler = self.system.ref(setup.actor(Scheduler, "scheduler"))
        self.leader: NamedRef[Any] = self.system.ref(f"{setup.name}/leader")
        self.timekeeper: NamedRef[Any] = self.system.ref(f"{setup.name}/timekeeper")
        self.awake = Awake(setup.lease / 2)
        self.calm_until = self.system.clock.now() + calm
        self.due: int | None = None
        self._is_busy = self._is_wanted = False
        self._alarm = Alarm(self, "look")
        self.send_interval(setup.lease * UPKEEP, "upkeep")
        for first in ("look", "upkeep"):
            self.ref.tell(first)

    def handle_info(self, message: object) -> None:
        """The time has come, or there is an earlier one."""
        match message:
            case "look":
                self._round()
            case "upkeep":
                self._upkeep()
            case ("due", int() as at) if self.due is None or at < self.due:
                self.due = at
                self._alarm.set((at - self.setup.now()) / 1_000)

    @cast
    def finished(self, done: Round, error: Exception | None) -> None:
        """Sleep until more is due; of what has become ready the herald tells the scheduler."""
        self._is_busy = False
        if store_failed(error):
            self._alarm.set_again()
            return
        self.due = done.due
        self._tell_of(zip(done.expired, done.expired, strict=True))
        if done.is_over:
            self.leader.tell("look")
        most = min(self.setup.lease / 2, 60.0)
        left = most if done.due is None else (done.due - self.setup.now()) / 1_000
        self._alarm.set(min(most, left))
        if self._is_wanted and not done.is_over:
            self._round()

    @cast
    def renewed(self) -> None:
        """All that is done here is known to be so: now what nobody does any more is taken back."""
        done, own = Upkeep(self.fence, round(self.setup.keep * 1_000), self.setup.lease_ms), self.ref
        self.writer.cast(Writer.submit, done, lambda error: own.cast(Janitor.kept, done, error))

    @cast
    def kept(self, done: Upkeep, error: Exception | None) -> None:
        """Tell the scheduler what was taken back; what the store has failed is tried again at the next time."""
        if store_failed(error):
            return
        self._tell_of(zip(done.rescued, done.left, strict=True))
        self.setup.figures.rescued(done.rescued)
        if done.rescued:
            self.scheduler.cast(Scheduler.returned, done.rescued)
            self.ref.tell("look")  # those that wait for a second try have a time of their own
        if done.is_full:
            self.ref.tell("upkeep")

    def _round(self) -> None:
        if self._is_busy:
            self._is_wanted = True
            return
        self._is_busy, self._is_wanted = True, False
        done, own = Round(self.fence), self.ref
        self.writer.cast(Writer.submit, done, lambda error: own.cast(Janitor.finished, done, error))

    def _upkeep(self) -> None:
        now = self.system.clock.now()
        if not self.awake.look(now, self.setup.now()):
            self.calm_until = now + self.setup.lease
            self.timekeeper.tell("look")
            self._round()
        if now >= self.calm_until:
            own = self.ref
            self.beat.cast(Beat.renew, lambda: own.cast(Janitor.renewed))

    def _tell_of(self, jobs: Iterable[tuple[Job, Job | None]]) -> None:
        """Of what the store has ended here nobody else tells."""
        for before, after in jobs:
            for event in ended(before, after, self.ref.path):
                self.setup.figures.failed(event)
                self.system.events.emit(event)
