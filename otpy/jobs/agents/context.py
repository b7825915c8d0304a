"""The job that a handler is doing, as it may ask for it."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from otpy.core.late import is_on_a_loop
from otpy.core.text import safe_repr
from otpy.jobs.args import pack, unpack
from otpy.jobs.errors import (
    ArgumentsError,
    JobCancelledError,
    LostJobError,
    NoJobError,
    OnceBusyError,
    StoreError,
    TransactionError,
)
from otpy.jobs.loan import Tx
from otpy.runtime.seat import Slot, here

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from otpy.jobs.agents.office import Office
    from otpy.jobs.model.job import Job

__all__ = ["CURRENT", "Flag", "Running", "current"]

T = TypeVar("T")

MAX_NOTE = 64 * 1024
"""Bytes of a progress or a checkpoint: it is written again and again."""

EACH, AT_ONCE = 0.001, 100
"""Seconds from one checkpoint to the next, for one who says so many and more: the scheduler hears others, too."""

PAUSE = 0.1
"""Seconds between two words of progress: one that a loop says in between is left out."""


NOT_ON_A_LOOP = "it would hold up the event loop: await asyncio.to_thread(…) a function that has the block in it"


class Flag:
    """What a running job is told, by the scheduler in another thread. As light as it may be: each job has one."""

    __slots__ = ("is_leaving", "is_up", "left")

    def __init__(self) -> None:
        """Nothing yet."""
        self.is_up = self.is_leaving = False
        """Whether it was cancelled; whether it is to leave, for its program stops."""
        self.left: Callable[[], float] | None = None
        """Gives the seconds until then, from the moment that the program drains."""


class Running:
    """One attempt of one job, for the code that does it; the same in every place."""

    def __init__(self, job: Job, until: float | None, office: Office, flag: Flag) -> None:
        """Made by its agent."""
        self._job = job
        self._until = until
        self._office = office
        self._flag = flag
        self._said_at = float("-inf")
        self._paced_to = 0.0

    @property
    def id(self) -> int:
        """The job's number in the store."""
        return self._job.id

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1; one that was given back does not count."""
        return self._job.attempt

    @property
    def labels(self) -> dict[str, object]:
        """What a line of a log says of it."""
        job = self._job
        return {"job": job.id, "kind": job.kind, "queue": job.queue, "attempt": job.attempt}

    @property
    def token(self) -> int:
        """Grows with each attempt: an outside system that keeps the highest it has seen can refuse a late one."""
        return self._job.token

    @property
    def key(self) -> str:
        """The same over all attempts and replays: for services that do a thing once for each key."""
        return self._job.effect_key

    @property
    def deadline(self) -> float | None:
        """When this attempt is ended, as `time.time()` counts: its timeout, or the job's own deadline if sooner."""
        return self._until

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody has cancelled the job: whatever is returned from now on, it ends `cancelled`."""
        return self._flag.is_up

    @property
    def draining(self) -> float | None:
        """None while all goes on; once the program was told to stop, the seconds for which this attempt may go on.

        A job that needs longer had better keep a `checkpoint` and return `Snooze(0)`, or leave: no attempt is spent.
        At 0 a coroutine is cancelled where it awaits something, a process gets SIGTERM, and `raise_if_cancelled` raises
        in all others; one that goes on is killed soon after. Then it is given back, and begun by another program, or by
        the next start of this one.
        """
        left = self._flag.left
        return None if left is None else left()

    @property
    def resume_from(self) -> Any:  # Any: what the handler itself has kept
        """The last checkpoint that an earlier attempt has kept; None when there is none."""
        return None if self._job.checkpoint is None else unpack(self._job.checkpoint)

    def raise_if_cancelled(self) -> None:
        """Leave the handler when the job was cancelled, or the time is over for which its program waits for it to end.

        Raises:
            JobCancelledError: it was; let it pass. In the other case the job is given back, and no attempt is spent.
        """
        if self._flag.is_up or self._flag.is_leaving:
            raise JobCancelledError(self.id)

    def progress(self, value: object) -> None:
        """Tell how far it is: plain data, for those who look; also a sign of life for `stall_timeout`.

        Costs no wait. Words that follow each other within a tenth of a second are left out but the first.

        Raises:
            ArgumentsError: it is no plain data, or more than 64 KiB.
        """
        now = monotonic()
        if now - self._said_at >= PAUSE:
            data = _small(value)
            self._said_at = now
            self._office.note(self._job, data, None)

    def checkpoint(self, value: object) -> None:
        """Keep from where a later attempt may go on; each replaces the one before, and is a sign of life.

        Costs no wait, unless it is said more than a thousand times in a second, outside of event loops. It is written
        with the next transaction, before the end of this attempt. When the whole program is killed before that, the
        next attempt gets the one before.

        Raises:
            ArgumentsError: it is no plain data, or more than 64 KiB.
        """
        data = _small(value)
        self._pace()
        self._office.note(self._job, None, data)

    def once(self, key: str, function: Callable[[], T]) -> T:
        """Do something once over all attempts of this job: later ones get what it returned, as plain data.

        When the program dies after the effect and before its result is kept, the next attempt does it again: what
        must not happen twice takes `key` along, which the service on the other side keeps.

        Args:
            key: what it is, within this job.
            function: does it, and returns plain data. When it raises, nothing is kept.

        Raises:
            ArgumentsError: what it returned is no plain data; it was done, and is not kept.
            LostJobError: this attempt is over; another one does the job.
            OnceBusyError: this very attempt is at it already.
            StoreError: the store failed.
        """
        found, result = _begun(self.id, key, self._office.begin(self._job, _name(key)))
        if found:
            return result  # type: ignore[no-any-return]  # what `function` returned in an earlier attempt
        try:
            made = function()
            data = pack(made)
        except BaseException:
            self._office.drop(self._job, key)
            raise
        _kept(self.id, self._office.keep(self._job, key, data))
        return made

    async def aonce(self, key: str, function: Callable[[], Awaitable[T]]) -> T:
        """As `once`, for a coroutine function. Raises as it does."""
        found, result = _begun(self.id, key, await self._office.abegin(self._job, _name(key)))
        if found:
            return result  # type: ignore[no-any-return]  # as above
        try:
            made = await function()
            data = pack(made)
        except BaseException:
            self._office.drop(self._job, key)
            raise
        _kept(self.id, await self._office.akeep(self._job, key, data))
        return made

    @contextmanager
    def tx(self) -> Iterator[Tx]:
        """A transaction in which what the job writes and its end are one: both are kept, or neither.

        At the end of the block the job is `done`, by this attempt's token, with what was set as the block's `result`;
        what its function returns, or raises, after that changes nothing. When the block raises, all is rolled back and
        the job goes on. It is the engine's own writer that does what is said, in its thread: everybody who writes waits
        meanwhile, so it is rolled back when it is open for more than a second, or a fifteenth of a lease if that is
        less. Not on an event loop: `await asyncio.to_thread(…)` a function with the block in it.

        Raises:
            JobCancelledError: somebody has cancelled the job.
            LostJobError: this attempt is over, its end is written down, or another one does the job.
            TransactionError: it cannot be had here, or was open for too long.
            StoreError: the store failed; nothing of it is kept.
            ArgumentsError: its `result` is no plain data.
        """
        if is_on_a_loop():
            raise TransactionError(f"job {self.id}", NOT_ON_A_LOOP)
        loan = self._office.lend(self._job)
        tx = Tx(loan)
        try:
            yield tx
            tx.done()
        except BaseException:
            loan.refuse(LostJobError(self.id))
            raise

    def _pace(self) -> None:
        now = monotonic()
        self._paced_to = max(self._paced_to + EACH, now)
        ahead = self._paced_to - now - EACH * AT_ONCE
        if ahead > 0 and not is_on_a_loop():
            Slot(here()).wait(ahead)


def _name(key: object) -> str:
    if not isinstance(key, str) or not key:
        raise ArgumentsError(f"once({safe_repr(key)}): a text")
    return key


def _begun(id: int, key: str, answer: tuple[str, Any]) -> tuple[bool, Any]:
    """Whether it was done before, and what came of it."""
    match answer:
        case ("begun", _):
            return False, None
        case ("done", bytes() as result):
            return True, unpack(result)
        case ("busy", _):
            raise OnceBusyError(id, key)
    _kept(id, answer)
    raise LostJobError(id)


def _kept(id: int, answer: tuple[str, Any]) -> None:
    match answer:
        case ("kept", _):
            return
        case ("store", (str() as path, str() as problem)):
            raise StoreError(path, problem)
    raise LostJobError(id)


def _small(value: object) -> bytes:
    data = pack(value)
    if len(data) > MAX_NOTE:
        raise ArgumentsError(f"{len(data)} bytes, more than {MAX_NOTE}: keep it elsewhere, and its name here")
    return data


CURRENT: ContextVar[Running] = ContextVar("otpy_job")


def current() -> Running:
    """The job whose handler calls this.

    Raises:
        NoJobError: no job runs here: the function was simply called.
    """
    try:
        return CURRENT.get()
    except LookupError:
        raise NoJobError from None
