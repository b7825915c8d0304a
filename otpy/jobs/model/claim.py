"""What the scheduler asks of the store for its agents, and how it has written down what they did."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from otpy.core.number import is_number
from otpy.jobs.model.job import CRASHES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from otpy.jobs.model.job import Attempt, State

__all__ = ["Ask", "Limits", "Once", "Rate", "Settled"]


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
class Limits:
    """How many may run at once, in all programs together: the store counts, and no other claim gets in between."""

    queue: int | None = None
    """Jobs of the only queue of the wish."""
    tenant: int | None = None
    """Jobs of each tenant in it."""
    kinds: Mapping[str, int] = field(default_factory=dict)
    """Jobs of a kind, in whichever queue; one that is not here has no limit."""

    @property
    def is_of_queue(self) -> bool:
        """Whether jobs of the queue are counted."""
        return (self.queue, self.tenant) != (None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A wish for jobs on behalf of agents that are named; those with the same owners share them, in their order."""

    queues: tuple[str, ...]
    """Where from; the first of them that has something gives first. Several have no limits of their own."""
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
    versions: tuple[str, ...] = ("",)
    """Of the jobs that may be given; the store says which."""
    limits: Limits | None = None
    """What the store is to count: what these leave becomes the rooms that follow, if it is less than they are. None
    where one program alone claims, and counts by itself."""
    kind_rooms: Mapping[str, int] = field(default_factory=dict)
    """How many more of a kind may run; a kind that is not here has no limit."""
    room: int | None = None
    """How many more jobs of the queue may run."""
    tenant_limit: int | None = None
    """Jobs of one tenant that may run at once."""
    tenant_counts: Mapping[str, int] = field(default_factory=dict)
    """How many of each tenant run."""
    turns: Mapping[str, str] = field(default_factory=dict)
    """The tenant that had the last turn in a queue: the one behind it has the next."""
    weights: Mapping[str, int] = field(default_factory=dict)
    """How many jobs a tenant has in its turn; 1 for those that are not here."""
    streak: int = 1
    """How many the last one had: one that has not had all goes on first."""
    rate: Rate | None = None
    """How often jobs of this queue may begin."""

    @property
    def unspent(self) -> int:
        """How many more jobs belong to the last turn."""
        return max(0, self.weights.get(self.turns.get(self.queue, ""), 1) - self.streak) if self.weights else 0

    @property
    def queue(self) -> str:
        """The only one, where somebody asks for that."""
        (queue,) = self.queues
        return queue

    def among(self, queues: Collection[str]) -> Ask:
        """As far as it is about these."""
        return replace(self, queues=tuple(queue for queue in self.queues if queue in queues))


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
    start_by: int | None = None
    """That of the job when it was given back before it was begun; no wait of one that was begun ends it."""

    @property
    def goes_on(self) -> bool:
        """Whether the job has not ended with this attempt."""
        return self.state in ("scheduled", "ready")

    @property
    def counts(self) -> tuple[int, int, int]:
        """What the job has of each more: errors, crashes, attempts that were given back."""
        failure = None if self.attempt is None else self.attempt.failure
        is_crash = failure in CRASHES
        return int(failure is not None and not is_crash), int(is_crash), int(self.is_free)

    def __repr__(self) -> str:
        """Without what it carries, as that of a `Job`."""
        return f"Settled(id={self.id}, token={self.token}, state={self.state!r}, …)"


@dataclass(frozen=True, slots=True)
class Once:
    """How it stands with what a job does once."""

    how: Literal["begun", "done", "busy", "stale"]
    """`begun`: by the one that asks, with this; `done`: here is the result; `busy`: the same attempt is at it already;
    `stale`: the attempt that asks runs no longer."""
    result: bytes = field(default=b"", repr=False)
