"""One transaction on the server: `Transaction` for PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from otpy.jobs.errors import StoreVersionError
from otpy.jobs.store.postgres import bulk, insertion, leading, lent, limits
from otpy.jobs.store.postgres.failures import MISTAKES
from otpy.jobs.store.postgres.versions import KNOWN
from otpy.jobs.store.sql import claims
from otpy.jobs.store.sql.transaction import SqlTransaction
from otpy.jobs.store.sql.ways import Ways

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from otpy.jobs.model.claim import Settled
    from otpy.jobs.model.host import Host, HostLook
    from otpy.jobs.model.job import Job
    from otpy.jobs.model.lead import Fence, Lead
    from otpy.jobs.model.new import Inserted, NewJob
    from otpy.jobs.store.postgres.counts import Counts
    from otpy.jobs.store.postgres.session import Session

__all__ = ["PostgresTransaction"]

ASKED_MS = 86_400_000
"""For so long a program may ask what became of a commit, however soon jobs are forgotten: it may have been stopped."""
FORGET = """
delete from otpy_commit where program in (select program from otpy_commit where at < ? for update skip locked)
"""
"""What another transaction is about to renew is left, and nobody waits for that one's end."""

J = TypeVar("J", bound="list[Job] | None")


class PostgresTransaction(SqlTransaction):
    """Between `begin` and `commit`, beside those of others: each statement sees what was committed before it."""

    mistakes = MISTAKES
    ways = Ways(bulk.giving, bulk.claim, bulk.first, bulk.take, limits.lock)

    def __init__(self, session: Session, now: int, counts: Counts, redact: Callable[[str], str] | None) -> None:
        """Begun already."""
        super().__init__(session, now, counts, redact)
        self._session, self._counts = session, counts
        self._held: dict[Fence, str] = {}
        self.has_company: bool | None = None
        """Whether other programs work on the store, if that has come out."""
        self.has_come = False
        """Whether a program has come with it, which the others are to call from now on."""
        self.is_urgent = False
        """Whether they must hear of it at once, though nothing has become ready."""

    @property
    def is_marked(self) -> bool:
        """Whether it has moved jobs, and left a mark: who loses the answer to its commit finds that."""
        return self._counts.is_marked

    def hurry(self) -> None:
        """Wait for no lock but for a moment."""
        self._session.hurry()

    def insert(self, new: Sequence[NewJob]) -> list[Inserted]:
        """Enqueue."""
        return insertion.insert_all(self._db, self._counts, new, self.now)

    def _finish(self, outcomes: Sequence[Settled]) -> set[tuple[int, int]]:
        """Most in one statement, whatever came of them: the first that was said of each attempt."""
        if not outcomes:
            return set()
        first = {one[:2]: self._seemly(one) for one in reversed(outcomes)}
        try:
            done = bulk.settle(self._db, self._tally, [*first.values()], self.now)
        except self.mistakes:  # one of them cannot be sent: which, comes out one by one
            return set()
        for key in done:
            claims.remember(self._db, key[0], first[key].attempt)
        return done

    def renew(self, held: Sequence[tuple[int, int]], lease_ms: int) -> list[tuple[int, int]]:
        """Extend leases."""
        return bulk.renew(self._db, held, self.now + lease_ms) if held else []

    def lent(self, until: float) -> AbstractContextManager[lent.Lent]:
        """Lend it to a handler."""
        return lent.lent(self._session, until)

    def appear(self, host: Host, ttl_ms: int) -> bool:
        """A program is there, or still.

        Raises:
            StoreVersionError: the tables were brought to a newer version, which a connection does not notice.
        """
        ((found,),) = self._db.execute("select max(version) from otpy_schema").fetchall()
        if found != KNOWN:
            raise StoreVersionError(self._session.path, found, KNOWN)
        return super().appear(host, ttl_ms)

    def elect(self, name: str, owner: str, ttl_ms: int, over: Lead | None = None) -> int | None:
        """Lead if nobody else does."""
        return leading.elect(self._db, name, owner, ttl_ms, over, self.now)

    def lead_on(self, fence: Fence, owner: str, ttl_ms: int) -> bool:
        """Go on leading."""
        return leading.lead_on(self._db, fence, owner, ttl_ms, self.now)

    def resign(self, fence: Fence, owner: str) -> None:
        """Lead no longer."""
        leading.resign(self._db, fence, owner, self.now)
        self._held.clear()

    def activate(self, version: str | None) -> None:
        """Have one version do what says none."""
        super().activate(version)
        self._held.clear()
        self.is_urgent = True

    def hosts(self, *, living: bool = False) -> list[HostLook]:
        """Those that are known, or live."""
        found = super().hosts(living=living)
        self.has_company = sum(one.is_alive for one in found) > 1
        self.has_come |= any(one.arrived_at == self.now for one in found)
        return found

    def pause(self, queue: str) -> None:
        """Give none of its jobs; what programs have claimed ahead is to be given back."""
        super().pause(queue)
        self.is_urgent = True

    def prune(self, before: int, limit: int) -> int:
        """Forget old jobs, and programs' last commits, of those too old to be asked for."""
        self._db.execute(FORGET, (min(before, self.now - ASKED_MS),))
        return super().prune(before, limit)

    def cancel(self, ids: Sequence[int], reason: str) -> list[Job]:
        """Cancel jobs."""
        return self._stopped(super().cancel(ids, reason))

    def fire(self, id: str, at: int, run_at: int, fence: Fence) -> list[Job] | None:
        """Enqueue the job of a schedule."""
        return self._stopped(super().fire(id, at, run_at, fence))

    def _under(self, fence: Fence) -> str | None:
        """Asked once: from then on nobody else can be elected until the end."""
        if fence not in self._held and (active := leading.holds(self._db, fence, self.now)) is not None:
            self._held[fence] = active
        return self._held.get(fence)

    def elected(self, prefix: str) -> list[tuple[str, Lead]]:
        """Who was elected last."""
        return leading.leads(self._db, prefix)

    def _stopped(self, jobs: J) -> J:
        """Those of them that there are run somewhere, and are to be ended."""
        self.is_urgent |= bool(jobs)
        return jobs
