"""Who leads: of all programs on one store one has the duties, by a lease with an epoch."""

from __future__ import annotations

import os
import socket
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING

from otpy.actors.gen_server import GenServer
from otpy.core.backoff import Backoff, delay
from otpy.errors import CallError, OtpyError
from otpy.events.leading import LeaderElected, LeaderLost, LeaderResigned
from otpy.jobs.alarm import Alarm
from otpy.jobs.awake import Awake
from otpy.jobs.duties import DRAIN, Steward
from otpy.jobs.errors import StoreError
from otpy.jobs.model.lead import Fence
from otpy.jobs.setup import RENEW
from otpy.jobs.writer import Writer

if TYPE_CHECKING:
    from otpy.core.reason import Reason
    from otpy.jobs.model.lead import Lead
    from otpy.jobs.setup import Setup
    from otpy.jobs.store.protocol import Transaction

__all__ = ["LEAVE", "Leader"]

AGAIN = 0.1
"""The part of a lease after which who stands by looks again when the store has failed; a leader has less time."""
PATIENCE = 5.0
"""Seconds that one request to the store may take at most."""
RESIGN = 2.0
"""Seconds that the store may take at most to hear that a lead is over."""
LEAVE = DRAIN + RESIGN + 1.0
"""Seconds that it takes at most to have the duties end, and to resign."""
PAUSES = Backoff(first=1.0, most=60.0, jitter=0.5)
"""Before a program whose duties have failed tries again; another one may be able to do them."""


class Leader(GenServer):
    """Elects itself when nobody leads, has the duties done, and sees them end before it says that it leads no longer.

    What it was granted it trusts from before the request on, by its own monotonic clock, for less than a lease. When
    the store does not answer it asks again, and has the duties end when that time is over. Who stands by goes by the
    time that the leader has written down, or, if the clock was set back meanwhile, by not having seen it extended.
    """

    trap_exit = True

    def init(self, setup: Setup) -> None:
        """Have nobody's duties done, and look at once whether anybody leads."""
        self.setup = setup
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4()}"
        self.is_leader = False
        self.epoch = 0
        self.writer = self.system.ref(setup.actor(Writer, "writer"))
        self.steward = self.system.ref(setup.actor(Steward, "steward"))
        self.fence: Fence | None = None
        self.trusted_until = 0.0
        self.awake = Awake(self.setup.lease / 2)
        self.calm_until = 0.0
        self.not_before = 0.0
        self.begun = 0.0
        self._ends: str | None = None
        self._is_well = True
        self._failures = 0
        self._trouble = ""
        self._seen: Lead | None = None
        self._seen_at = 0.0
        self._is_planned = False
        self._alarm = Alarm(self, "look")
        self.steward.within(None).call(Steward.end)
        self.ref.tell("look")

    def handle_info(self, message: object) -> None:
        """The time has come, or something happened to the duties."""
        match message:
            case "look" if self._ends is None:
                self._look()
            case ("failed", Fence() as fence, str() as why) if fence == self.fence:
                self._fail(why)
            case ("ended", Fence() as fence) if fence == self.fence and self._ends is not None:
                self._step_down(self._ends)
                self._alarm.set(self.setup.poll)

    def terminate(self, reason: Reason) -> None:  # noqa: ARG002 - whatever it is
        """Let the next one take over at once."""
        with suppress(OtpyError):  # it is gone, and has left nothing
            self.steward.within(None).call(Steward.end)
        self._is_well = self._ends is None
        self._step_down(self._ends or "it was told to stop")

    def _look(self) -> None:
        if not self.awake.look(self._clock(), self.setup.now()):
            self.calm_until = self._clock() + self.setup.lease
        try:
            wait = self._stand_by() if self.fence is None else self._lead_on(self.fence)
        except (StoreError, CallError) as error:
            wait = self._doubt(error)
        self._alarm.set(wait)

    # Who leads.

    def _lead_on(self, fence: Fence) -> float:
        """Extend the lead; seconds until the next look."""
        sent = self._clock()
        left = self.trusted_until - sent
        if left <= 0:
            return self._end(f"it could not extend its lease in time{self._trouble}")
        writer, ttl_ms = self.writer.within(min(PATIENCE, left)), self.setup.lease_ms
        if not writer.call(Writer.run, lambda tx: tx.lead_on(fence, self.owner, ttl_ms)):
            return self._end("its lease was over, or another one leads")
        self.trusted_until = self.setup.trusted_until(sent)
        self._trouble = ""
        return self.setup.lease * RENEW

    def _doubt(self, error: Exception) -> float:
        """The store does not answer: what was granted is trusted until it is over, and no longer."""
        if self.fence is None:
            return self.setup.lease * AGAIN
        self._trouble = f": {error}"
        left = self.trusted_until - self._clock()
        return min(self.setup.again_seconds, left) if left > 0 else self._end(f"the store does not answer: {error}")

    def _end(self, why: str) -> float:
        """Have the duties end; the rest follows when they have."""
        assert self.fence is not None  # noqa: S101 - it leads
        self._ends = why
        self.steward.cast(Steward.finish, self.fence)
        return self.setup.lease

    def _fail(self, why: str) -> None:
        """A leader that cannot do its duties is none, and gives another one the chance."""
        now = self._clock()
        if now - self.begun > self.setup.lease:
            self._failures = 0
        pause = delay(PAUSES, self._failures, self.system.random.random()) + 2 * self._standby
        self._failures += 1
        self.not_before = now + pause
        self._is_well = False
        self._step_down(why)
        self._alarm.set(pause)

    def _step_down(self, why: str) -> None:
        """The duties have ended: now it is no leader."""
        fence, self.fence, self.is_leader = self.fence, None, False
        lost, self._ends = self._ends is not None, None
        if fence is None:
            return
        with suppress(StoreError, CallError):  # then it ends by itself
            limit = min(RESIGN, self.setup.lease * RENEW)
            self.writer.within(limit).call(Writer.run, lambda tx: tx.resign(fence, self.owner))
        if lost:
            self.system.events.emit(LeaderLost(path=self.ref.path, epoch=fence.epoch, why=why))
        else:
            event = LeaderResigned(path=self.ref.path, epoch=fence.epoch, why=why, is_well=self._is_well)
            self.system.events.emit(event)

    # Who stands by.

    def _stand_by(self) -> float:
        """Lead if nobody does; seconds until the next look."""
        self._plan()
        now = self._clock()
        if now < self.not_before:
            return self.not_before - now
        seen = self.writer.within(PATIENCE).call(Writer.lead, self.setup.name)
        if not self._is_over(seen):
            return self._standby
        sent = self._clock()
        epoch = self.writer.within(PATIENCE).call(Writer.run, lambda tx: self._elect(tx, seen))
        if epoch is None:
            return self._standby
        self.trusted_until = self.setup.trusted_until(sent)
        return self._begin(Fence(name=self.setup.name, epoch=epoch))

    def _begin(self, fence: Fence) -> float:
        self.fence, self.epoch = fence, fence.epoch
        self.begun = self._clock()
        if self.begun >= self.trusted_until:
            return self._end("its election took as long as a lease")
        self.is_leader, self._is_well = True, True
        self.system.events.emit(LeaderElected(path=self.ref.path, epoch=fence.epoch))
        self.steward.cast(Steward.begin, fence, max(0.0, self.calm_until - self.begun))
        return self.setup.lease * RENEW

    def _is_over(self, seen: Lead | None) -> bool:
        """Whether nobody leads: by the time written down, or by what was seen when the clock has been set back."""
        if seen is None or seen.owner == self.owner or seen.expires_at <= self.setup.now():
            return True
        now = self._clock()
        if seen != self._seen:
            self._seen, self._seen_at = seen, now
        return now - self._seen_at >= seen.ttl_ms / 1_000

    def _elect(self, tx: Transaction, seen: Lead | None) -> int | None:
        return tx.elect(self.setup.name, self.owner, self.setup.lease_ms, seen)

    def _plan(self) -> None:
        """Write down the schedules that are declared here: whoever leads fires those of all."""
        if not self._is_planned:
            schedules = self.setup.schedules()
            if schedules:
                self.writer.within(PATIENCE).call(Writer.run, lambda tx: tx.plan(schedules))
            self._is_planned = True

    # Times.

    @property
    def _standby(self) -> float:
        """Between two looks of who stands by; in virtual time, in which nobody waits, fewer do."""
        return max(self.setup.poll, self.setup.lease * AGAIN) if self.system.is_virtual else self.setup.poll

    def _clock(self) -> float:
        return self.system.clock.now()
