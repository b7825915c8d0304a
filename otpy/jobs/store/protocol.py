"""`Store`: what keeps jobs must be able to do. Its methods take many at once, as one round trip serves them all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet
    from contextlib import AbstractContextManager
    from pathlib import Path

    from otpy.jobs.model.claim import Ask, Once, Settled
    from otpy.jobs.model.host import Host, HostLook, Station
    from otpy.jobs.model.job import Job
    from otpy.jobs.model.lead import Fence, Lead
    from otpy.jobs.model.look import Look, QueueLook, Want
    from otpy.jobs.model.new import Inserted, NewJob, Replayed
    from otpy.jobs.model.news import News
    from otpy.jobs.model.schedule import Schedule
    from otpy.jobs.model.server import ServerLook

__all__ = ["Foreign", "Readers", "Store", "Transaction"]


class Foreign(Protocol):
    """Statements of the user's own, on tables that are not the store's; each gives its answer, or what is wrong in it.

    What is raised is a failure of the store, and ends the transaction.
    """

    def run(self, text: str, values: Any) -> tuple[Any, Exception | None]:  # Any: whatever the user gives
        """One: its rows."""

    def run_many(self, text: str, rows: Sequence[Any]) -> tuple[Any, Exception | None]:  # Any: as above
        """One with each of these: how many rows it changed."""


class Transaction(Protocol):
    """What is done together: all of it is kept, or none. For the one thread that opened it.

    A conflict is a result, never an exception. An exception is a failure of the store, and ends the transaction.
    `now` is read once for each transaction.
    """

    @property
    def now(self) -> int:
        """The store's time, in milliseconds."""

    @property
    def news(self) -> News:
        """What others may do once it is committed: where jobs have become ready, and when the next ones do."""

    def hurry(self) -> None:
        """Wait for no other program any more, but for a moment."""

    def insert(self, new: Sequence[NewJob]) -> list[Inserted]:
        """Enqueue, in this order."""

    def claim(self, asks: Sequence[Ask], by: Fence | Station, version: str = "") -> list[Job] | None:
        """Give `ready` jobs to agents: by priority, then time, then age; each gets a new token and a lease.

        Limits hold over all wishes of one call. Where one program works the leader asks, with the version of its code,
        else any, for its station. Jobs that say a version are given to that one, the others to the one that is active.

        None: that program is not known, dead or draining. None here and below: the fence does not hold, another leads,
        and nothing was done.
        """

    def has_ready(self, queue: str) -> bool:
        """Whether a job of it is ready now."""

    def taken(self, queues: AbstractSet[str]) -> None:
        """What has become ready in these is given already: it is no news to anybody."""

    def ready(self) -> set[str]:
        """The queues with ready jobs, with what this transaction has done so far; cheap, however many there are."""

    def age(self, step_ms: int, limit: int, fence: Fence) -> int | None:
        """Move up ready jobs with a priority above 0 by one for each `step_ms` that they have waited."""

    def pause(self, queue: str) -> None:
        """Give none of its jobs, from whichever program; it is the scheduler that keeps to it."""

    def resume(self, queue: str) -> None:
        """Give them again."""

    def paused(self) -> dict[str, int]:
        """The queues that are paused, and since when."""

    def wants(self, limit: int) -> list[Want]:
        """What at most so many ready jobs want of an agent."""

    def settle(self, outcomes: Sequence[Settled], *, is_again: bool = False) -> list[bool]:
        """Write down how attempts went; False for one whose token is no longer that of the running job.

        One that was cancelled meanwhile ends `cancelled`, whatever the outcome says. `is_again`: some may have been
        written before, and are no news when they are refused.
        """

    def renew(self, held: Sequence[tuple[int, int]], lease_ms: int) -> list[tuple[int, int]]:
        """Extend the leases of these (id, token); returns those that are lost.

        One that is over can be extended while the job is still `running`, unless a claim with `Limits` has counted
        meanwhile: then there may be another one in its place.
        """

    def note(self, id: int, token: int, progress: bytes | None, checkpoint: bytes | None) -> bool:
        """Keep how far a running job is; None leaves what is there. False for a token that is no longer its own."""

    def begin_once(self, id: int, token: int, name: str) -> Once:
        """Begin what a job does once over all its attempts; what an earlier one left unfinished is taken over."""

    def keep_once(self, id: int, token: int, name: str, result: bytes) -> bool:
        """It is done, with this result; False when that attempt runs no longer, or has not begun it."""

    def drop_once(self, id: int, token: int, name: str) -> None:
        """It failed, and may be begun again."""

    def holds(self, id: int, token: int) -> Literal["held", "cancelled", "lost"]:
        """Whether the attempt with this token is the one that runs, and whether somebody has cancelled it."""

    def lent(self, until: float) -> AbstractContextManager[Foreign]:
        """Run statements of the user's own, until this time of the monotonic clock."""

    def cancelled(self) -> list[tuple[int, int]]:
        """(id, token) of those that run and that somebody has cancelled."""

    def promote(self, limit: int, fence: Fence) -> set[str] | None:
        """Make `scheduled` jobs `ready` whose time has come; returns their queues."""

    def expire(self, limit: int, fence: Fence) -> list[int] | None:
        """Give up jobs that wait and whose time is over, to end or to be begun; returns their ids."""

    def rescue(self, grace_ms: int, limit: int, fence: Fence, lease_ms: int | None = None) -> list[Job] | None:
        """Take back `running` jobs whose lease ran out so long ago; they have crashed once more. As they were.

        A lease that lasts for more than two of `lease_ms`, or of the longest that a program has, was given before the
        clock was set back, and is cut to one.
        """

    def due(self) -> int | None:
        """When the next time comes of a job that waits for it, or that is dead then unless it has begun, or ended.

        The one janitor asks; from then on `news` tells of earlier times alone.
        """

    def cancel(self, ids: Sequence[int], reason: str) -> list[Job]:
        """Cancel those that wait; returns those that run, whose agents must be told, after marking them."""

    def hasten(self, ids: Sequence[int]) -> set[str]:
        """Have those of them that are `scheduled` begin now; returns their queues."""

    def replay(
        self, ids: Sequence[int], *, is_forced: bool, gap_ms: int, instead: NewJob | None = None
    ) -> list[Replayed]:
        """Enqueue those of them that are dead once more, as new jobs of the same work; the old ones are `replayed`.

        A new one has fresh attempts, the keys of the old one, what that did once, and as much time for its deadline.
        Each begins `gap_ms` after the one before. `is_forced` runs again what was replayed before, too. The arguments
        are those of `instead` if that is given, and so are its tenant and its unique key, which are made of them.
        """

    def prune(self, before: int, limit: int) -> int:
        """Forget jobs that ended before; dead ones stay. Returns how many. Programs that ended before are forgotten."""

    def get(self, id: int) -> Job | None:
        """One job, with its failed attempts."""

    def living(self, ids: AbstractSet[int]) -> set[int]:
        """Those of these jobs that are still to end."""

    def running(self) -> list[Job]:
        """All that have a lease."""

    def find(self, look: Look) -> list[Job]:
        """Jobs that fit, the newest first."""

    def queues(self) -> list[QueueLook]:
        """How each queue is, by name; with what this transaction has done so far."""

    def plan(self, schedules: Sequence[Schedule]) -> None:
        """Keep these; one whose times have changed begins anew: its past is not made up for."""

    def schedules(self) -> list[Schedule]:
        """All that are kept, by whomever."""

    def fire(self, id: str, at: int, run_at: int, fence: Fence) -> list[Job] | None:
        """Enqueue the job of a schedule for one of its times, once, whoever asks; returns those to be cancelled."""

    def unplan(self, id: str) -> bool:
        """Forget a schedule; its jobs stay. False when there is none."""

    def pause_schedule(self, id: str, *, is_paused: bool) -> bool:
        """Fire it no more, or again; what was missed meanwhile is left out. False when there is none."""

    def appear(self, host: Host, ttl_ms: int) -> bool:
        """Say that a program is there, and is for so long unless it says so again.

        False for one that has left or is dead, as long as that is remembered: it may come back under another id.
        """

    def leave(self, id: str) -> bool:
        """A program is there no longer. False when it was not."""

    def drain(self, id: str) -> bool:
        """Give a program nothing from now on; what it has it may end. False when it is not there."""

    def hosts(self, *, living: bool = False) -> list[HostLook]:
        """The programs that work on the store, or did, in the order in which they came; `prune` forgets the dead.

        `living`: those alone that work on it, which are few, however many have ended since.
        """

    def activate(self, version: str | None) -> None:
        """Have programs of this version do what says none, from their next claims on; None: those of any version."""

    def active(self) -> str | None:
        """The version that is active; None while all are."""

    def elect(self, name: str, owner: str, ttl_ms: int, over: Lead | None = None) -> int | None:
        """Lead if nobody else does: the epoch, one more than any before; None while another leads.

        `over` is a lead that has not been extended for as long as it lasts, whatever the clock says of it: nobody has
        it any more if its row is still the same.
        """

    def lead_on(self, fence: Fence, owner: str, ttl_ms: int) -> bool:
        """Go on leading; False when that is over."""

    def resign(self, fence: Fence, owner: str) -> None:
        """Lead no longer; the row stays, for its epoch must grow."""

    def is_current(self, fence: Fence) -> bool:
        """Whether this one still leads; nobody else can be elected until the transaction has ended."""

    def elected(self, prefix: str) -> list[tuple[str, Lead]]:
        """Who was elected last, for each name that begins so, in the order of the names."""


class Store(Protocol):
    """A place for jobs. One thread writes; what it hands out is values."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Begin one that may write, at once; its end commits, an exception rolls back.

        Raises:
            StoreError: it could not be begun or committed: nothing of it is kept.
        """

    def lead(self, name: str) -> Lead | None:
        """Who was elected last; a look outside of any transaction, which holds up nobody."""

    def changes(self) -> int:
        """A number that differs when another program has written; cheap."""

    def close(self) -> None:
        """Let go of the file."""


class Readers(Protocol):
    """Looks beside who writes, in whatever thread.

    A look sees all that was committed before it began, and nothing of what comes meanwhile.
    """

    is_open: bool
    """Whether one may look; where nobody may, the writer is asked."""

    def look(self) -> AbstractContextManager[Transaction]:
        """A transaction in which nothing can be written.

        Raises:
            StoreError: the store cannot be read.
        """

    def back_up(self, to: Path) -> int:
        """Copy the store as it is now; the size of the copy in bytes.

        Raises:
            BackupError: a file of that name is there, or it cannot be written.
            StoreError: the store cannot be read.
        """

    def server(self) -> ServerLook | None:
        """How it stands with the server that has it; None for a file. Raises StoreError."""

    def close(self) -> None:
        """Let go of the store; a look that is under way goes on."""
        ...
