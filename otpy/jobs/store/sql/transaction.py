"""One transaction: `Transaction` for stores in SQL. What their databases do differently is left to each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal

from otpy.core.text import exception_line
from otpy.jobs.model.claim import Settled
from otpy.jobs.model.host import Station, given_to
from otpy.jobs.model.look import Want
from otpy.jobs.model.news import News, Stale
from otpy.jobs.redact import redacted
from otpy.jobs.store.sql import again, claims, enqueue, fair, hosts, looks, once, planned, upkeep, wishes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet
    from contextlib import AbstractContextManager

    from otpy.jobs.model.claim import Ask, Once
    from otpy.jobs.model.host import Host, HostLook
    from otpy.jobs.model.job import Job
    from otpy.jobs.model.lead import Fence, Lead
    from otpy.jobs.model.look import Look, QueueLook
    from otpy.jobs.model.new import Inserted, NewJob, Replayed
    from otpy.jobs.model.schedule import Schedule
    from otpy.jobs.store.protocol import Foreign
    from otpy.jobs.store.sql.base import Base
    from otpy.jobs.store.sql.tally import Tally
    from otpy.jobs.store.sql.ways import Ways

__all__ = ["SqlTransaction"]


class SqlTransaction(ABC):
    """As `otpy.jobs.store.protocol.Transaction` says; between the statements that begin it and commit it."""

    mistakes: ClassVar[tuple[type[Exception], ...]]
    """What is said of a value that the database cannot take: the fault of who gave it, while the store is well."""

    ways: ClassVar[Ways]
    """How it claims."""

    def __init__(self, db: Base, now: int, tally: Tally, redact: Callable[[str], str] | None) -> None:
        """Begun already."""
        self._db = db
        self._redact = redact
        self._tally = tally
        self._stale: list[Stale] = []
        self.now = now

    @property
    def news(self) -> News:
        """What others may do once it is committed."""
        return News(self._tally.ready, self._tally.due, tuple(self._stale), self._tally.made)

    @abstractmethod
    def hurry(self) -> None:
        """Wait for no other program any more, but for a moment."""

    def insert(self, new: Sequence[NewJob]) -> list[Inserted]:
        """Enqueue."""
        return enqueue.insert_all(self._db, self._tally, new, self.now)

    def claim(self, asks: Sequence[Ask], by: Fence | Station, version: str = "") -> list[Job] | None:
        """Give jobs to agents."""
        if isinstance(by, Station):
            active, version = hosts.works(self._db, by, self.now), by.version
        else:
            active = self._under(by)
        if active is None:
            return None
        versions = given_to(version, active)
        return wishes.claim_all(self._db, self._tally, asks, versions, self.now, self.ways) if versions else []

    def has_ready(self, queue: str) -> bool:
        """Whether a job of it is ready now."""
        return looks.has_ready(self._db, queue)

    def taken(self, queues: AbstractSet[str]) -> None:
        """Nothing of these is news."""
        self._tally.ready = self._tally.ready - queues  # who has looked at the news keeps what was so then

    def age(self, step_ms: int, limit: int, fence: Fence) -> int | None:
        """Move up what has waited."""
        return fair.age(self._db, step_ms=step_ms, limit=limit, now=self.now) if self.is_current(fence) else None

    def ready(self) -> set[str]:
        """The queues that have ready jobs."""
        self._tally.write(self._db)
        return looks.ready(self._db)

    def pause(self, queue: str) -> None:
        """Give none of its jobs."""
        text = "insert into otpy_paused (queue, since) values (?, ?) on conflict do nothing"
        self._db.execute(text, (queue, self.now))

    def resume(self, queue: str) -> None:
        """Give them again."""
        self._db.execute("delete from otpy_paused where queue = ?", (queue,))
        self._tally.ready.add(queue)

    def paused(self) -> dict[str, int]:
        """The queues that are paused, and since when."""
        return dict(self._db.execute("select queue, since from otpy_paused order by queue"))

    def wants(self, limit: int) -> list[Want]:
        """What ready jobs want: kinds, queues and labels, with how many there are of each."""
        return [Want(*row) for row in self._db.execute(looks.WANTS, (limit,))]

    def settle(self, outcomes: Sequence[Settled], *, is_again: bool = False) -> list[bool]:
        """Write down how attempts went."""
        finished, done = self._finish(outcomes), []
        for outcome in outcomes:
            done.append(outcome[:2] in finished or self._settle(outcome))
            finished.discard(outcome[:2])  # of one attempt no other end is accepted
        if not (is_again or all(done)):
            for one, is_kept in zip(outcomes, done, strict=True):
                self._kept(is_kept, Stale(one.id, one.token, "end"))
        return done

    def _finish(self, outcomes: Sequence[Settled]) -> set[tuple[int, int]]:
        """Write down many of them at once; (id, token) of those that were."""
        return claims.finish(self._db, self._tally, outcomes, self.now)

    def _settle(self, outcome: Settled) -> bool:
        try:
            return claims.settle(self._db, self._tally, self._seemly(outcome), self.now)
        except self.mistakes as error:  # nobody else's end shall wait for it for ever
            why = f"how it ended cannot be written: {exception_line(error)}"
            dead = Settled(id=outcome.id, token=outcome.token, state="dead", reason=why)
            return claims.settle(self._db, self._tally, dead, self.now)

    def renew(self, held: Sequence[tuple[int, int]], lease_ms: int) -> list[tuple[int, int]]:
        """Extend leases."""
        return claims.renew(self._db, held, self.now + lease_ms)

    def note(self, id: int, token: int, progress: bytes | None, checkpoint: bytes | None) -> bool:
        """Keep how far a job is."""
        return self._kept(claims.note(self._db, id, token, progress, checkpoint), Stale(id, token, "note"))

    def begin_once(self, id: int, token: int, name: str) -> Once:
        """Begin what is done once."""
        found = once.begin(self._db, id, token, name)
        self._kept(found.how != "stale", Stale(id, token, "once"))
        return found

    def keep_once(self, id: int, token: int, name: str, result: bytes) -> bool:
        """It is done."""
        return self._kept(once.keep(self._db, id, token, name, result), Stale(id, token, "once"))

    def drop_once(self, id: int, token: int, name: str) -> None:
        """It failed."""
        once.drop(self._db, id, token, name)

    def holds(self, id: int, token: int) -> Literal["held", "cancelled", "lost"]:
        """How it stands with an attempt."""
        return claims.holds(self._db, id, token)

    @abstractmethod
    def lent(self, until: float) -> AbstractContextManager[Foreign]:
        """Lend it to a handler."""

    def cancelled(self) -> list[tuple[int, int]]:
        """Those that run and are to be cancelled."""
        return claims.cancelled(self._db)

    def promote(self, limit: int, fence: Fence) -> set[str] | None:
        """Make those ready whose time has come."""
        return upkeep.promote(self._db, self._tally, limit, self.now) if self.is_current(fence) else None

    def expire(self, limit: int, fence: Fence) -> list[int] | None:
        """Give up those that are overdue."""
        return upkeep.expire(self._db, self._tally, limit, self.now) if self.is_current(fence) else None

    def rescue(self, grace_ms: int, limit: int, fence: Fence, lease_ms: int | None = None) -> list[Job] | None:
        """Take back jobs of dead programs."""
        if not self.is_current(fence):
            return None
        if lease_ms is not None:
            upkeep.shorten(self._db, lease_ms, self.now)
        return upkeep.rescue(self._db, self._tally, grace_ms=grace_ms, limit=limit, now=self.now)

    def due(self) -> int | None:
        """The next time of a job that waits."""
        due = upkeep.due(self._db)
        self._tally.looked(due)
        return due

    def cancel(self, ids: Sequence[int], reason: str) -> list[Job]:
        """Cancel jobs."""
        return upkeep.cancel(self._db, self._tally, ids, redacted(reason, self._redact), self.now)

    def hasten(self, ids: Sequence[int]) -> set[str]:
        """Have those that are scheduled begin now."""
        return again.hasten(self._db, self._tally, ids, self.now)

    def replay(
        self, ids: Sequence[int], *, is_forced: bool, gap_ms: int, instead: NewJob | None = None
    ) -> list[Replayed]:
        """Enqueue dead jobs once more."""
        how = again.How(is_forced=is_forced, gap_ms=gap_ms, instead=instead)
        return again.replay(self._db, self._tally, ids, how, self.now)

    def prune(self, before: int, limit: int) -> int:
        """Forget old jobs."""
        hosts.forget(self._db, before)
        return upkeep.prune(self._db, self._tally, before=before, limit=limit)

    def get(self, id: int) -> Job | None:
        """One job."""
        return looks.get(self._db, id)

    def living(self, ids: AbstractSet[int]) -> set[int]:
        """Those that are still to end."""
        return looks.living(self._db, ids)

    def find(self, look: Look) -> list[Job]:
        """Jobs that fit."""
        return looks.find(self._db, look)

    def running(self) -> list[Job]:
        """Those that have a lease."""
        return looks.running(self._db)

    def queues(self) -> list[QueueLook]:
        """How each queue is, with what this transaction has done so far."""
        self._tally.write(self._db)
        return looks.queues(self._db)

    def plan(self, schedules: Sequence[Schedule]) -> None:
        """Keep schedules."""
        for schedule in schedules:
            planned.plan(self._db, schedule, self.now)

    def schedules(self) -> list[Schedule]:
        """All that are kept."""
        return planned.schedules(self._db)

    def fire(self, id: str, at: int, run_at: int, fence: Fence) -> list[Job] | None:
        """Enqueue the job of a schedule."""
        if not self.is_current(fence):
            return None
        return planned.fire(self._db, self._tally, id, at=at, run_at=run_at, now=self.now)

    def unplan(self, id: str) -> bool:
        """Forget a schedule."""
        return planned.unplan(self._db, id)

    def pause_schedule(self, id: str, *, is_paused: bool) -> bool:
        """Fire it no more, or again."""
        return planned.pause(self._db, id, is_paused=is_paused, now=self.now)

    def appear(self, host: Host, ttl_ms: int) -> bool:
        """A program is there, or still."""
        return hosts.appear(self._db, host, ttl_ms, self.now)

    def leave(self, id: str) -> bool:
        """It is there no longer."""
        return hosts.leave(self._db, id, self.now)

    def drain(self, id: str) -> bool:
        """Give it nothing more."""
        return hosts.drain(self._db, id, self.now)

    def hosts(self, *, living: bool = False) -> list[HostLook]:
        """Those that are known, or live."""
        return hosts.looks(self._db, self.now, after=self.now if living else 0)

    def activate(self, version: str | None) -> None:
        """Have one version do what says none."""
        hosts.activate(self._db, version or "", self.now)
        self._tally.ready |= self.ready()  # for others now

    def active(self) -> str | None:
        """The one that does."""
        return hosts.active(self._db) or None

    @abstractmethod
    def elect(self, name: str, owner: str, ttl_ms: int, over: Lead | None = None) -> int | None:
        """Lead if nobody else does."""

    @abstractmethod
    def lead_on(self, fence: Fence, owner: str, ttl_ms: int) -> bool:
        """Go on leading."""

    @abstractmethod
    def resign(self, fence: Fence, owner: str) -> None:
        """Lead no longer."""

    def is_current(self, fence: Fence) -> bool:
        """Whether this leader still leads, until the transaction ends."""
        return self._under(fence) is not None

    @abstractmethod
    def _under(self, fence: Fence) -> str | None:
        """The version that is active, if this leader still leads, until the transaction ends; else None."""

    @abstractmethod
    def elected(self, prefix: str) -> list[tuple[str, Lead]]:
        """Who was elected last."""

    def finish(self) -> None:
        """Write what was gathered; right before the commit."""
        self._tally.write(self._db)

    def committed(self) -> None:
        """Remember what the next one need not find out; right after the commit."""
        self._tally.committed()

    def _seemly(self, outcome: Settled) -> Settled:
        """Without secrets, which errors tell."""
        attempt, hook = outcome.attempt, self._redact
        if hook is None or (attempt is None and not outcome.reason):
            return outcome
        attempt = attempt and replace(attempt, text=redacted(attempt.text, hook), trace=redacted(attempt.trace, hook))
        return outcome._replace(attempt=attempt, reason=redacted(outcome.reason, hook))

    def _kept(self, is_kept: bool, stale: Stale) -> bool:  # noqa: FBT001 - what a write has said
        """Keep what was refused; of an attempt that has ended its job before its own end, nothing is late."""
        if not (is_kept or claims.is_done(self._db, stale.id, stale.token)):
            self._stale.append(stale)
        return is_kept
