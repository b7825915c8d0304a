"""Who leads: of all programs on one store one has the duties, by a lease with an epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.core.spec import child
from otpy.events.leading import LeaderElected, LeaderLost, LeaderResigned
from otpy.jobs.awake import Awake
from otpy.jobs.candidate import PATIENCE, Candidate, Terms, another_active
from otpy.jobs.duties import LEAD_END, Duties, LeadDuties
from otpy.jobs.steward import Steward
from otpy.jobs.work import DRAIN
from otpy.jobs.writer import Writer

if TYPE_CHECKING:
    from otpy.core.spec import ChildSpec
    from otpy.events.event import Event
    from otpy.jobs.membership import Badge
    from otpy.jobs.model.lead import Fence
    from otpy.jobs.setup import Setup
    from otpy.jobs.store.protocol import Transaction

__all__ = ["Leader"]


class Leader(Candidate):
    """The candidate for the duties of an engine."""

    def init(self, setup: Setup, badge: Badge | None = None) -> None:
        """Have nobody's duties done, and look at once whether anybody leads; by this badge where programs have one."""
        self.setup, self.badge = setup, badge
        self.resigns_first = badge is not None  # on a file who leads is who works, and leads until the work has ended
        self.awake = Awake(setup.lease / 2)
        self.calm_until = 0.0
        self._is_planned = False
        terms = Terms(name=setup.name, lease=setup.lease, poll=setup.poll)
        self.stand(terms, setup.actor(Writer, "writer"), setup.actor(Steward, "steward"))

    def now(self) -> int:
        """The engine's."""
        return self.setup.now()

    def waking(self) -> None:
        """What others have left undone while nobody was awake is theirs for a lease more."""
        if not self.awake.look(self.clock(), self.now()):
            self.calm_until = self.clock() + self.setup.lease

    def prepare(self) -> None:
        """Write down the schedules that are declared here: whoever leads fires those of all."""
        if self.badge is not None:
            self.owner = self.badge.host.owner
        if not self._is_planned:
            schedules = self.setup.schedules()
            if schedules:
                self.writer.within(PATIENCE).call(Writer.run, lambda tx: tx.plan(schedules))
            self._is_planned = True

    def barred(self, tx: Transaction) -> str | None:
        """Where another version is active its programs lead."""
        return another_active(tx, self.setup.version)

    def duties(self, fence: Fence) -> ChildSpec:
        """Those of an engine: all that is to be done, or what must be done once, where every program works."""
        calm = max(0.0, self.calm_until - self.begun)
        if self.badge is None:
            return child(Duties, self.setup, fence, calm).opts(shutdown=DRAIN)
        return child(LeadDuties, self.setup, fence, calm).opts(shutdown=LEAD_END)

    def elected(self, fence: Fence) -> Event:
        """It leads."""
        return LeaderElected(path=self.ref.path, epoch=fence.epoch)

    def lost(self, fence: Fence, why: str) -> Event:
        """It could not any longer."""
        return LeaderLost(path=self.ref.path, epoch=fence.epoch, why=why)

    def resigned(self, fence: Fence, why: str, *, is_well: bool) -> Event:
        """It lets another one."""
        return LeaderResigned(path=self.ref.path, epoch=fence.epoch, why=why, is_well=is_well)
