"""A candidate: takes part in the election of one program of all, by a lease with an epoch, for a name in the store."""

from __future__ import annotations

import uuid
from abc import abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from otpy.actors.gen_server import GenServer
from otpy.core.backoff import Backoff, delay
from otpy.core.decision import NoReply
from otpy.errors import CallError, OtpyError
from otpy.jobs.alarm import Alarm
from otpy.jobs.errors import NoEngineError, StoreError
from otpy.jobs.model.lead import Fence
from otpy.jobs.program import program
from otpy.jobs.setup import AGAIN, RENEW, trusted
from otpy.jobs.steward import Steward
from otpy.jobs.writer import Writer
from otpy.runtime.draining import draining_of

if TYPE_CHECKING:
    from otpy.core.reason import Reason
    from otpy.core.spec import ChildSpec, Name
    from otpy.events.event import Event
    from otpy.jobs.model.lead import Lead
    from otpy.jobs.store.protocol import Transaction
    from otpy.runtime.drain import Drain

__all__ = ["BRIEF", "LEAVE", "PATIENCE", "RESIGN", "Candidate", "Terms", "another_active"]

STANDBY = 0.1
"""The part of a lease after which who stands by looks again when the store has failed; a leader has less time."""
PATIENCE = 5.0
"""Seconds that one request to the store may take at most."""
RESIGN = 2.0
"""Seconds that the store may take at most to hear that a lead is over."""
BRIEF = 1.0
"""Seconds to stop for who has nothing to wind up."""
LEAVE = RESIGN + BRIEF
"""Seconds that a candidate takes at most to stop, when the duties have ended."""
PAUSES = Backoff(first=1.0, most=60.0, jitter=0.5)
"""Before a program whose duties have failed tries again; another one may be able to do them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """For what a candidate stands, and how long it is granted that."""

    name: str
    """What the store calls it; of all candidates of one name one leads."""
    lease: float
    """Seconds."""
    poll: float
    """Seconds between two looks of who stands by."""
    stop: float = 0.0
    """Seconds that the duties may take to end, and that are kept for that: who leads stops to do so as much earlier."""

    def trusted_until(self, sent_at: float) -> float:
        """How long it may lead, by the monotonic clock, by a lease that was asked for at `sent_at`."""
        return sent_at + trusted(self.lease) - self.stop

    @property
    def lease_ms(self) -> int:
        """The lease as the store counts."""
        return round(self.lease * 1_000)


class Candidate(GenServer):
    """Elects itself when nobody leads, has the duties done, and sees them end before it says that it leads no longer.

    What it was granted it trusts from before the request on, by its own monotonic clock, for less than a lease. When
    the store does not answer it asks again, and has the duties end when that time is over. Who stands by goes by the
    time that the leader has written down, or, if the clock was set back meanwhile, by not having seen it extended.
    """

    trap_exit = True
    resigns_first = False
    """Whether it resigns when its program begins to drain, so that another one leads meanwhile; else it leads on."""

    def stand(self, terms: Terms, writer: Name[Writer], steward: Name[Steward]) -> None:
        """Have nobody's duties done, and look at once whether anybody leads; the last that `init` does."""
        self.terms = terms
        self.owner = f"{program()}:{uuid.uuid4()}"
        self.epoch = 0
        self.is_leader = False
        """Read by whoever looks, in any thread, and so set when `epoch`, the last one that it led under, is."""
        self.writer = self.system.ref(writer)
        self.steward = self.system.ref(steward)
        self.fence: Fence | None = None
        self.trusted_until = 0.0
        self.not_before = 0.0
        self.begun = 0.0
        self._ends: str | None = None
        self._is_lost = self._is_free = True
        self._is_well = True
        self._drain: Drain | None = None
        self._failures = 0
        self._trouble = ""
        self._seen: Lead | None = None
        self._seen_at = 0.0
        self._alarm = Alarm(self, "look")
        self.steward.within(None).call(Steward.end)
        self.ref.tell("look")

    # What it stands for.

    @abstractmethod
    def now(self) -> int:
        """The time as the store has it. Raises NoEngineError when there is none."""

    @abstractmethod
    def duties(self, fence: Fence) -> ChildSpec:
        """What is begun when it is elected."""

    @abstractmethod
    def elected(self, fence: Fence) -> Event:
        """What is told then."""

    @abstractmethod
    def lost(self, fence: Fence, why: str) -> Event:
        """What is told when it could not lead any longer."""

    @abstractmethod
    def resigned(self, fence: Fence, why: str, *, is_well: bool) -> Event:
        """What is told when it lets another one lead, being told so, or not well."""

    def waking(self) -> None:
        """Before each look."""

    def prepare(self) -> None:
        """Before it may be elected; what is raised, for the store has failed, has it look again later."""

    def barred(self, tx: Transaction) -> str | None:  # noqa: ARG002 - here nothing bars
        """Why it must not lead, asked in the transaction in which it is elected or goes on; None when it may."""
        return None

    # Its turns.

    def handle_drain(self, drain: Drain) -> NoReply | None:
        """Have another one lead, if what is led here allows that."""
        if self.fence is None or not self.resigns_first:
            return None
        self._drain = drain
        if self._ends is None:
            self._end("its program is about to stop", is_lost=False)
        return NoReply()

    def handle_info(self, message: object) -> None:
        """The time has come, or something happened to the duties."""
        match message:
            case "look" if self._ends is None:
                self._look()
            case ("failed", Fence() as fence, str() as why) if fence == self.fence:
                self._fail(why)
            case ("ended", Fence() as fence) if fence == self.fence and self._ends is not None:
                self._step_down(self._ends)
                self._alarm.set(self.terms.poll)

    def terminate(self, reason: Reason) -> None:  # noqa: ARG002 - whatever it is
        """Let the next one take over at once."""
        try:
            self.steward.within(None).call(Steward.end)
        except OtpyError:  # it is gone, and what it has begun is ended by the next one: until then it must be nobody's
            if self.fence is not None:
                self._leave(self.lost(self.fence, "whoever was to end what it does is gone"))
        self._is_well = self._ends is None or not self._is_lost
        self._step_down(self._ends or "it was told to stop")

    def _look(self) -> None:
        if self.fence is None and draining_of(self.system, self.ref) is not None:
            return  # a program that is about to stop does not begin to lead
        try:
            self.waking()
            wait = self._stand_by() if self.fence is None else self._lead_on(self.fence)
        except (StoreError, CallError, NoEngineError) as error:
            wait = self._doubt(error)
        self._alarm.set(wait)

    # Who leads.

    def _lead_on(self, fence: Fence) -> float:
        """Extend the lead; seconds until the next look."""
        sent = self.clock()
        left = self.trusted_until - sent
        if left <= 0:
            return self._end(f"it could not extend its lease in time{self._trouble}")
        why, is_on = self.writer.within(min(PATIENCE, left)).call(Writer.run, lambda tx: self._extend(tx, fence))
        if why is not None:
            return self._end(why, is_lost=False)
        if not is_on:
            return self._end("its lease was over, or another one leads")
        self.trusted_until = self.terms.trusted_until(sent)
        self._trouble = ""
        return self.terms.lease * RENEW

    def _extend(self, tx: Transaction, fence: Fence) -> tuple[str | None, bool]:
        """Why it must resign; and whether it leads on."""
        why = self.barred(tx)
        return why, why is None and tx.lead_on(fence, self.owner, self.terms.lease_ms)

    def _doubt(self, error: Exception) -> float:
        """The store does not answer: what was granted is trusted until it is over, and no longer."""
        if self.fence is None:
            return self.terms.lease * STANDBY
        self._trouble = f": {error}"
        left = self.trusted_until - self.clock()
        soon = self.terms.lease * AGAIN
        return min(soon, left) if left > 0 else self._end(f"the store does not answer: {error}")

    def _end(self, why: str, *, is_lost: bool = True) -> float:
        """Have the duties end; the rest follows when they have. `is_lost`: it would lead on if it could."""
        assert self.fence is not None  # noqa: S101 - it leads
        self._ends, self._is_lost = why, is_lost
        self.steward.cast(Steward.finish, self.fence)
        return self.terms.lease

    def _fail(self, why: str) -> None:
        """A leader that cannot do its duties is none, and gives another one the chance."""
        now = self.clock()
        if now - self.begun > self.terms.lease:
            self._failures = 0
        pause = delay(PAUSES, self._failures, self.system.random.random()) + 2 * self._standby
        self._failures += 1
        self.not_before = now + pause
        self._is_well = False
        self._step_down(why)
        self._alarm.set(pause)

    def _step_down(self, why: str) -> None:
        """The duties have ended: now it is no leader."""
        if self.fence is None:
            return
        fence, self.is_leader, is_lost = self.fence, False, self._ends is not None and self._is_lost
        with suppress(StoreError, CallError):  # then it ends by itself
            limit = min(RESIGN, self.terms.lease * RENEW)
            self.writer.within(limit).call(Writer.run, lambda tx: tx.resign(fence, self.owner))
        self._leave(self.lost(fence, why) if is_lost else self.resigned(fence, why, is_well=self._is_well))

    def _leave(self, event: Event) -> None:
        """It leads no longer; whether another one may at once, the store knows."""
        self.fence, self.is_leader, self._ends = None, False, None
        self._tell(event)
        if self._drain is not None:
            self._drain.done()

    # Who stands by.

    def _stand_by(self) -> float:
        """Lead if nobody does; seconds until the next look."""
        self.prepare()
        now = self.clock()
        if now < self.not_before:
            return self.not_before - now
        seen = self.writer.within(PATIENCE).call(Writer.lead, self.terms.name)
        if not self._is_over(seen):
            return self._standby
        sent = self.clock()
        epoch = self.writer.within(PATIENCE).call(Writer.run, lambda tx: self._elect(tx, seen))
        if epoch is None:
            return self._standby if self._is_free else max(self._standby, self.terms.lease * STANDBY)
        self.trusted_until = self.terms.trusted_until(sent)
        return self._begin(Fence(name=self.terms.name, epoch=epoch))

    def _begin(self, fence: Fence) -> float:
        self.fence, self.epoch = fence, fence.epoch
        self.begun = self.clock()
        if self.begun >= self.trusted_until:
            return self._end("its election took as long as a lease")
        self.is_leader, self._is_well = True, True
        self._tell(self.elected(fence))
        self.steward.cast(Steward.begin, fence, self.duties(fence))
        return self.terms.lease * RENEW

    def _is_over(self, seen: Lead | None) -> bool:
        """Whether nobody leads: by the time written down, or by what was seen when the clock has been set back."""
        if seen is None or seen.owner == self.owner or seen.expires_at <= self.now():
            return True
        now = self.clock()
        if seen != self._seen:
            self._seen, self._seen_at = seen, now
        return now - self._seen_at >= seen.ttl_ms / 1_000

    def _elect(self, tx: Transaction, seen: Lead | None) -> int | None:
        self._is_free = self.barred(tx) is None
        if not self._is_free:
            return None
        return tx.elect(self.terms.name, self.owner, self.terms.lease_ms, seen)

    # Times.

    @property
    def _standby(self) -> float:
        """Between two looks of who stands by; in virtual time, in which nobody waits, fewer do."""
        return max(self.terms.poll, self.terms.lease * STANDBY) if self.system.is_virtual else self.terms.poll

    def clock(self) -> float:
        """The monotonic one."""
        return self.system.clock.now()

    def _tell(self, event: Event) -> None:
        self.system.events.emit(event)


def another_active(tx: Transaction, version: str) -> str | None:
    """That another version than this one is active, in words; None when that is not so."""
    active = tx.active()
    return None if active in (None, version) else f"version {active} is active"
