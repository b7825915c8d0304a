"""Where a running job turns to: what it says and asks goes from here to the scheduler and the ledger as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.core.spec import Name
from otpy.jobs.agents.beat import Beat
from otpy.jobs.agents.desk import Desk
from otpy.jobs.agents.ledger import Ledger
from otpy.jobs.errors import LostJobError, TransactionError
from otpy.jobs.loan import Loan
from otpy.jobs.writer import Writer
from otpy.runtime.links import Monitor, watch

if TYPE_CHECKING:
    from otpy.core.reason import Reason
    from otpy.jobs.model.job import Job
    from otpy.runtime.named import NamedRef
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["Bank", "Office"]

PATIENCE = 30.0
"""Seconds that a job waits for the store; a busy one is given up by then."""


APART = "its agent has a process of its own, and the store is the program's: use once, or a crew in another place"


class Bank:
    """Where a job gets a transaction of the writer's: in the writer's own process alone."""

    def __init__(self, system: System, engine: str, seconds: float) -> None:
        """Of this engine; each loan is for so many seconds."""
        self._writer = system.ref(Name(f"{engine}/writer", Writer))
        self._beat: NamedRef[Beat] = system.ref(Name(f"{engine}/beat", Beat))
        self._seconds = seconds

    def lend(self, job: Job) -> Loan:
        """Have one. When it is kept the beat has that job's lease to renew no longer.

        Raises LostJobError or JobCancelledError when there is nothing to be written any more, and TransactionError when
        the writer ends before it comes to it.
        """
        ended, writer = [(job.id, job.token)], self._writer.whereis()
        loan = Loan(job.id, job.token, self._seconds, lambda: self._beat.cast(Beat.change, [], ended, 0.0))
        watching = _Watching(loan, writer)
        watch(watching)
        try:
            if writer is not None:
                writer.cast(Writer.lend, loan)
            loan.open()
        except BaseException:
            loan.refuse(LostJobError(job.id))
            raise
        finally:
            watching.cancel()
        return loan


class _Watching(Monitor):
    """Tells who waits for the writer that it has ended, and its mailbox with it."""

    __slots__ = ("_loan",)

    def __init__(self, loan: Loan, writer: Ref[Writer] | None) -> None:
        super().__init__(loan, writer, None)
        self._loan = loan

    def fire(self, reason: Reason) -> None:
        why = f"the writer has ended before it came to it ({reason}), and is started again"
        self._loan.refuse_unserved(TransactionError(f"job {self._loan.job}", why))


class Office:  # Any, below: plain data, which may come from another process
    """For one agent; the same whether it lives in this process or not, for no function goes through it."""

    def __init__(self, agent: Ref[Any], scheduler: NamedRef[Desk], ledger: NamedRef[Ledger], bank: Bank | None) -> None:
        """Made by the agent; in a process of its own it has no bank."""
        self._bank = bank
        self._agent = agent
        self._scheduler = scheduler
        self._ledger = ledger.within(PATIENCE)

    def note(self, job: Job, progress: bytes | None, checkpoint: bytes | None) -> None:
        """How far it is."""
        self._scheduler.cast(Desk.note, self._agent, job.id, job.token, progress, checkpoint)

    def begin(self, job: Job, key: str) -> Any:
        """Whether it may do what it does once."""
        return self._ledger.call(Ledger.begin, job.id, job.token, key)

    def keep(self, job: Job, key: str, result: bytes) -> Any:
        """It is done."""
        return self._ledger.call(Ledger.keep, job.id, job.token, key, result)

    async def abegin(self, job: Job, key: str) -> Any:
        """As `begin`, awaited."""
        return await self._ledger.acall(Ledger.begin, job.id, job.token, key)

    async def akeep(self, job: Job, key: str, result: bytes) -> Any:
        """As `keep`, awaited."""
        return await self._ledger.acall(Ledger.keep, job.id, job.token, key, result)

    def acknowledge(self, job: Job) -> Any:
        """It is done, before it begins."""
        return self._ledger.call(Ledger.acknowledge, job.id, job.token)

    async def aacknowledge(self, job: Job) -> Any:
        """As `acknowledge`, awaited."""
        return await self._ledger.acall(Ledger.acknowledge, job.id, job.token)

    def lend(self, job: Job) -> Loan:
        """A transaction of the writer's, for this attempt. Raises TransactionError."""
        if self._bank is None:
            raise TransactionError(f"job {job.id}", APART)
        return self._bank.lend(job)

    def drop(self, job: Job, key: str) -> None:
        """It failed."""
        self._ledger.cast(Ledger.drop, job.id, job.token, key)
