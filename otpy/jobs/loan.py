"""A transaction of the writer's, lent to a job's handler: that says what is done, and the writer's thread does it.

So there is still one that writes, and whoever hangs in between is left: when its time is over the writer rolls back,
goes on, and the handler finds out with its next word.
"""

from __future__ import annotations

from collections import deque
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias

from otpy.jobs.args import pack
from otpy.jobs.errors import JobCancelledError, LostJobError, TransactionError
from otpy.jobs.insertion import Insertion
from otpy.jobs.model.claim import Settled
from otpy.jobs.spec import job_specs
from otpy.runtime.seat import Slot, here, sleep_on, take_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from otpy.jobs.insertion import Enqueued
    from otpy.jobs.model.news import News
    from otpy.jobs.spec import JobSpec
    from otpy.jobs.store.protocol import Foreign, Store, Transaction

    Step: TypeAlias = Callable[[Transaction, Foreign], Any]
    Values: TypeAlias = Sequence[object] | Mapping[str, object]

__all__ = ["Loan", "Tx"]

PATIENCE = 30.0
"""Seconds that a handler waits for the writer, which may have others to serve first; a busy store is told by then."""


class Loan:
    """What the two threads share: questions in their order, one answer each, and why it is over.

    Under the lock something is asked, or it is over: what comes later is refused, and whatever was asked before has its
    answer or the reason. `_answering` is the writer's own; a handler that ends it meanwhile waits for nothing itself.
    """

    def __init__(self, job: int, token: int, seconds: float, kept: Callable[[], object]) -> None:
        """Asked for by this attempt, for so many seconds; `kept` is called in the writer's thread when it is."""
        self.job, self.token, self.seconds, self.kept = job, token, seconds, kept
        self._asked: deque[tuple[Step, Slot, bool]] = deque()
        self._answering: Slot | None = None
        self._lock = Lock()
        self._bell = take_lock()  # free while there is something that the writer has not looked for
        self._is_served = False
        self._over: Exception | None = None

    # In the handler's thread.

    def ask(self, step: Step, *, is_last: bool = False) -> Any:  # Any: what the step returns
        """Have it done, and wait for that; with the last one also for the commit. Raises why it cannot be."""
        with self._lock:
            if self._over is not None:
                raise self._over
            slot = Slot(here())
            self._asked.append((step, slot, is_last))
            self._ring()
        if not slot.wait(PATIENCE):
            late = TransactionError(f"job {self.job}", f"the writer has not come to it within {PATIENCE:g} s")
            self.refuse(late)
            raise late
        return slot.value

    def open(self) -> None:
        """Have it. Raises LostJobError or JobCancelledError when there is nothing to be written any more."""
        self.ask(self._look)

    def settle(self, result: bytes) -> None:
        """The job is done; all of it is kept when this returns."""
        done = Settled(id=self.job, token=self.token, state="done", result=result)
        self.ask(lambda tx, _: tx.settle([done]), is_last=True)

    # In the writer's.

    def serve(self, store: Store) -> News | None:
        """Do what is said, until that is the last word; what is raised here rolls back. None: nobody waits any more."""
        with self._lock:
            if self._over is not None:
                return None
            self._is_served = True
        until = monotonic() + self.seconds
        is_last = False
        with store.transaction() as tx, tx.lent(until) as foreign:
            while not is_last:
                step, self._answering, is_last = self._next(until)
                value = step(tx, foreign)
                if not is_last:
                    self._answering.resolve(value)
        try:
            self.kept()
        finally:  # also when the writer was killed meanwhile, and leaves its code here: it is kept
            self._answer(value)
        return tx.news

    def _answer(self, value: object) -> None:
        """The last word has one, too; there are no further ones, and what has come with it is refused."""
        over = LostJobError(self.job)
        with self._lock:
            self._over, answering, left = over, self._answering, self._left()
        if answering is not None:
            answering.resolve(value)
        for slot in left:
            slot.break_off(over)

    def _next(self, until: float) -> tuple[Step, Slot, bool]:
        # On a lock: CPython before 3.13 waits for a SimpleQueue without end once a signal to the thread came late.
        while True:
            with self._lock:
                if self._over is not None:
                    raise self._over
                if self._asked:
                    return self._asked.popleft()
            if not sleep_on(self._bell, until - monotonic()):
                self.refuse(_too_long(self.job, self.seconds))

    def _look(self, tx: Transaction, _: Foreign) -> None:
        match tx.holds(self.job, self.token):
            case "cancelled":
                raise JobCancelledError(self.job)
            case "lost":
                raise LostJobError(self.job)

    # In either.

    def refuse(self, error: Exception) -> None:
        """It is over, without a commit; whoever waits is told why."""
        with self._lock:
            self._over = self._over or error
            waiting = ([] if self._answering is None else [self._answering]) + self._left()
            self._ring()
        for slot in waiting:
            slot.break_off(self._over)

    def refuse_unserved(self, error: Exception) -> None:
        """The writer has ended: as `refuse`, unless it is at it, for then it says itself how that ends."""
        with self._lock:
            if self._is_served:
                return
        self.refuse(error)

    def _left(self) -> list[Slot]:
        """Who has asked and was not heard; under the lock."""
        left = [slot for _, slot, _ in self._asked]
        self._asked.clear()
        return left

    def _ring(self) -> None:
        """Wake the writer; under the lock, so that nobody else does between the question and the answer."""
        if self._bell.locked():
            self._bell.release()


class Tx:
    """A transaction on the engine's file that ends the job with it: what `current().tx()` gives.

    For the thread that began it. Each statement is run by the engine's writer, while all others of the program who
    write wait, so everything slow is done before it or after it. Who asks the engine otherwise in between, by a
    `Client` or by `once`, waits for its own end: what follows is enqueued by `enqueue` here.
    """

    def __init__(self, loan: Loan) -> None:
        """Made by `Running.tx`."""
        self._loan = loan
        self.result: object = None
        """What the job has returned, as plain data: what its function returns after this is not kept."""

    def execute(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]:  # Any: what SQLite gives
        """Run one statement on your own tables; returns its rows, also those of `returning`.

        Raises:
            sqlite3.Error: as SQLite says it of this statement; the transaction goes on, and may be used further.
            TransactionError: it would begin or end a transaction, or write to the engine's tables; its time is over.
            StoreError: the store failed, and nothing of it is kept.
        """
        rows: list[tuple[Any, ...]] = self._said(lambda foreign: foreign.run(sql, values))
        return rows

    def executemany(self, sql: str, rows: Iterable[Values]) -> int:
        """Run one statement with each of these values; returns how many rows were changed. Raises as `execute`."""
        listed = list(rows)
        changed: int = self._said(lambda foreign: foreign.run_many(sql, listed))
        return changed

    def enqueue(self, *specs: JobSpec[Any]) -> list[Enqueued]:
        """Enqueue what follows: it is there when this job is done, or neither is.

        Raises:
            KeyTakenError: a key was used for another job, or one is in the way; all of the transaction is rolled back.
        """
        insertion = Insertion(job_specs(specs))
        made: list[Enqueued] = self._loan.ask(lambda tx, _: insertion(tx))
        return made

    def _said(self, step: Callable[[Foreign], Any]) -> Any:  # Any: as the step says
        """What the user's own statement is wrong in is the answer, and no failure of the transaction."""
        answer, error = self._loan.ask(lambda _, foreign: step(foreign))
        if error is not None:
            raise error
        return answer

    def done(self) -> None:
        """Commit, at the end of the block."""
        self._loan.settle(pack(self.result))


def _too_long(job: int, seconds: float) -> TransactionError:
    why = f"it was open for more than {seconds:g} s, and was rolled back, for all who write wait for it"
    return TransactionError(f"job {job}", f"{why}: do what is slow, and what asks the engine itself, outside of it")
