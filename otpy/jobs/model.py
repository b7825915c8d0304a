"""A job as the store keeps it, and what is written about it: plain values, no clock and no I/O.

Times are whole milliseconds of the wall clock: what two programs share is compared as numbers, in one unit.
What is made once for each job is a named tuple: a frozen dataclass of thirty fields costs more than its row in SQLite.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from otpy.core.number import is_number
from otpy.jobs.args import decode, unpack

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "LIVING",
    "Ask",
    "Attempt",
    "Conflict",
    "Failure",
    "Fence",
    "Inserted",
    "Job",
    "Lead",
    "Look",
    "Missed",
    "NewJob",
    "Once",
    "Overlap",
    "QueueLook",
    "Rate",
    "Replayed",
    "Schedule",
    "Settled",
    "State",
    "Unique",
    "Until",
    "Want",
]

State: TypeAlias = Literal["scheduled", "ready", "running", "done", "dead", "cancelled", "replayed"]
"""`scheduled` waits for its time, `ready` for an agent, `running` has a lease; the others are final.

A job whose breaker is open, or whose queue is paused, stays `ready` and is not claimed: that costs no write.
"""

LIVING: tuple[State, ...] = ("scheduled", "ready", "running")
"""The states of a job that is still to end."""

Failure: TypeAlias = Literal["error", "timeout", "stalled", "crash", "lost", "stale"]
"""How an attempt failed: the handler raised; it took too long; it no longer made progress; its agent died; its program
did, so that its lease ran out; its result could not be stored."""

Until: TypeAlias = Literal["started", "finished", "forever"]
"""How long a unique key is taken."""

Missed: TypeAlias = Literal["skip", "latest", "all"]
"""What happens to times at which nobody led: they are left out when they are late, or the last of them is done, or all
of them, but no more than `most`."""

Overlap: TypeAlias = Literal["allow", "skip", "queue_one", "cancel_old"]
"""What happens when the last job of a schedule has not ended: another beside it; none; one, unless one waits already;
the old one is cancelled."""

Conflict: TypeAlias = Literal["keep", "replace", "raise"]
"""What an enqueue does that finds a job with the same unique key: give that one, change its arguments while it has not
started, or refuse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unique:
    """That at most one job with this key may be in these states."""

    key: str
    """Made of the kind, and of the arguments that count."""
    until: Until = "finished"
    """How long the key is taken: until the job starts, until it has ended, or for as long as its row is kept."""
    on_conflict: Conflict = "keep"
    """What happens to the second one."""


class NewJob(NamedTuple):
    """What is to be enqueued."""

    kind: str
    """The name of the function that does it."""
    queue: str
    args: bytes
    """Its arguments, encoded with their version."""
    run_at: int
    """When it may start."""
    priority: int = 0
    """Less is sooner."""
    tenant: str = ""
    """Who shares the queue fairly with others."""
    needs: str = ""
    """The labels that its agent must have, sorted and joined by commas."""
    unique: Unique | None = None
    key: str | None = None
    """The caller's own key: a second enqueue with it gives the first job."""
    max_errors: int = 1
    """Failed attempts after which it is dead."""
    max_crashes: int = 3
    """Attempts that may take their agent along before it is dead."""
    timeout_ms: int | None = None
    """How long one attempt may take; None means without end."""
    deadline_at: int | None = None
    """When it is dead, however far it is."""
    meta: bytes = b""
    """The effect key of the job that it runs again."""
    replay_of: int | None = None
    """The dead job that this one runs again."""
    schedule: str | None = None
    """The schedule it belongs to."""


@dataclass(frozen=True, slots=True)
class Inserted:
    """What an enqueue gave."""

    id: int
    """Of the new job, or of the one that was there."""
    how: Literal["new", "kept", "replaced", "refused", "differs"] = "new"
    """`kept`: a job with the same key was there; `replaced`: it has the new arguments now; `refused`: it is in the way;
    `differs`: the caller's own key was used before, for something else."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What became of one job that was to be run again."""

    id: int
    """The old one's."""
    new: int | None
    """The new one's; for one that is `taken`, the one in the way."""
    queue: str
    how: Literal["new", "missing", "not_dead", "replayed", "taken"]
    """`missing`: there is none of this number; `not_dead`: it has not been given up; `replayed`: that was done before;
    `taken`: another job has its unique key now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt that failed."""

    number: int
    at: int
    failure: Failure
    text: str
    """What was raised, or how the agent ended: bounded, without secrets."""


class Job(NamedTuple):
    """A row of the store."""

    id: int
    kind: str
    queue: str
    state: State
    args: bytes
    run_at: int
    priority: int
    tenant: str
    needs: str
    unique_key: str | None
    key: str | None
    attempt: int
    """Which attempt this is; for people."""
    token: int
    """Grows with each claim and is never used again; what is written about an attempt names it."""
    errors: int
    """Attempts that failed by themselves."""
    crashes: int
    """Attempts that took their agent or their program along."""
    releases: int
    """Attempts that were given back unfinished, at no cost."""
    max_errors: int
    max_crashes: int
    timeout_ms: int | None
    deadline_at: int | None
    owner: str
    """The agent that has it, for people; empty while it waits."""
    lease_until: int | None
    created_at: int
    finished_at: int | None = None
    progress: bytes | None = None
    checkpoint: bytes | None = None
    result: bytes | None = None
    reason: str = ""
    """Why it is dead or cancelled."""
    meta: bytes = b""
    replay_of: int | None = None
    attempts: tuple[Attempt, ...] = ()
    """The failed ones, oldest first, at most the last twenty; filled by `get` alone."""

    @property
    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What its function is called with. Raises ArgumentsError when a newer otpy has written it."""
        return decode(self.args)

    @property
    def result_value(self) -> Any:  # Any: whatever its function returned
        """What its function returned; None while it has not. Raises as `arguments`."""
        return None if self.result is None else unpack(self.result)

    @property
    def progress_value(self) -> Any:  # Any: whatever its function tells
        """How far it is, as it told last; None when it has not. Raises as `arguments`."""
        return None if self.progress is None else unpack(self.progress)

    @property
    def effect_key(self) -> str:
        """The same over all attempts and replays: for services that do a thing once for each key."""
        return self.meta.decode() if self.meta else f"otpy-{self.created_at}-{self.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """Who leads: what a leader writes is refused when another has been elected since."""

    name: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Rate:
    """So many in a time: `jobs.Rate(100, per=60.0)`. By GCRA: evenly spread, after a burst."""

    number: int
    per: float = 1.0
    """Seconds."""
    burst: int = 1
    """How many may begin at once after a rest."""

    @property
    def period_ms(self) -> float:
        """Milliseconds from one to the next."""
        return self.per * 1_000 / self.number

    def problem(self) -> str | None:
        """Why it cannot be used, and the mend; None when it can."""
        for name, value in (("number", self.number), ("burst", self.burst)):
            if type(value) is not int or value < 1:
                return f"{name}={value!r}: a whole number >= 1"
        if not (is_number(self.per) and 0 < self.per < 1e9):  # noqa: PLR2004 - some thirty years
            return f"per={self.per!r}: seconds > 0"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """Who was elected last, as its row says."""

    owner: str
    epoch: int
    """One more at each election."""
    elected_at: int
    expires_at: int
    """When it is over unless its owner extends it; written by the owner, whatever others would have set."""
    ttl_ms: int
    """How long the owner extends it each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A wish for jobs of one queue, on behalf of agents that are named."""

    queue: str
    owners: tuple[str, ...]
    """One job at most for each, in this order."""
    lease_ms: int
    needs: tuple[str, ...] = ("",)
    """What the agents can do: the `needs` of jobs that may be given."""
    tenant: str | None = None
    """Only jobs of this one."""
    not_tenants: tuple[str, ...] = ()
    not_kinds: tuple[str, ...] = ()
    """Kinds that are held back, or have reached their limit."""
    kinds: tuple[str, ...] | None = None
    """Only these; None means any."""
    kind_rooms: Mapping[str, int] = field(default_factory=dict)
    """How many more of a kind may run; a kind that is not here has no limit."""
    tenant_limit: int | None = None
    """Jobs of one tenant that may run at once."""
    tenant_counts: Mapping[str, int] = field(default_factory=dict)
    """How many of each tenant run."""
    after_tenant: str = ""
    """Who had the last turn: the one behind it has the next."""
    rate: Rate | None = None
    """How often jobs of this queue may begin."""


class Settled(NamedTuple):
    """How an attempt is written down; refused when the token is no longer that of the running job."""

    id: int
    token: int
    state: State
    """`done`, `dead`, `cancelled`, or `scheduled`/`ready` for another attempt."""
    run_at: int | None = None
    result: bytes | None = None
    reason: str = ""
    attempt: Attempt | None = None
    """The failure to remember, counted among the errors or the crashes."""
    is_free: bool = False
    """Given back: the attempt is not counted."""


@dataclass(frozen=True, slots=True)
class Once:
    """How it stands with what a job does once."""

    how: Literal["begun", "done", "busy", "stale"]
    """`begun`: by the one that asks, with this; `done`: here is the result; `busy`: the same attempt is at it already;
    `stale`: the attempt that asks runs no longer."""
    result: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Which jobs somebody wants to see; None means any."""

    queue: str | None = None
    state: State | None = None
    kind: str | None = None
    before: int | None = None
    """Only those with a lower id: the next page."""
    limit: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A job that is enqueued again and again: kept in the store, so that any leader knows all of them."""

    id: str
    expr: str
    tz: str
    job: NewJob
    """What is enqueued; its time is that of the schedule."""
    missed: Missed
    most: int
    late: float
    """Seconds."""
    overlap: Overlap
    jitter: float
    """Seconds."""
    fired_at: int = 0
    """The last of its times that was done, or left out."""
    is_paused: bool = False


@dataclass(frozen=True, slots=True)
class Want:
    """Ready jobs that are alike in what they want of an agent."""

    queue: str
    kind: str
    needs: str
    number: int


@dataclass(frozen=True, slots=True)
class QueueLook:
    """How a queue is."""

    name: str
    numbers: dict[str, int]
    """Jobs by state."""
    oldest: int | None
    """When the ready job was due that has waited longest."""
