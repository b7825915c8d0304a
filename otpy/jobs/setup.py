"""What an engine is made of, checked once and passed down whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from otpy.core.clock import wall_clock
from otpy.core.number import is_number
from otpy.core.spec import Name, Place
from otpy.core.text import safe_repr
from otpy.errors import SpecError
from otpy.jobs.decisions import MOST_SECONDS
from otpy.jobs.declared import is_seconds, is_text
from otpy.jobs.figures import Figures
from otpy.jobs.labels import label_problem
from otpy.jobs.model.claim import Rate
from otpy.jobs.model.lead import is_shared
from otpy.jobs.model.schedule import Schedule
from otpy.jobs.spec import new_job

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from otpy.core.backoff import Backoff
    from otpy.jobs.cron import Cron
    from otpy.jobs.kind import Kind

__all__ = ["AGAIN", "MARGIN", "RENEW", "Crew", "Queue", "Setup", "trusted"]


MARGIN = 0.1
"""The part of a lease that is not trusted."""

MOST_WEIGHT = 1_000
"""Jobs of one turn: others are to have theirs."""

DELAY = 0.01
"""Seconds that a renewal may wait for others that share its commit."""

RENEW = 1 / 3
"""The part of a lease after which a lead is extended."""

AGAIN = 1 / 50
"""The part of a lease after which a store that has failed is asked again, at the latest.

A lead that is about to be extended when the store fails has more than half of its lease left. What of that is not spent
on pauses, the writer's and the leader's, is the outage that changes nothing.
"""


def trusted(lease: float) -> float:
    """How long a lease is trusted, in seconds from before the request for it.

    For a slow answer tells nothing of when the lease began; and less than all of it, so that what is done by it has
    ended before another program may take it.
    """
    return lease * (1 - MARGIN)


@dataclass(frozen=True, slots=True)
class Queue:
    """How a queue is worked off; one that nobody declares has no limits."""

    name: str
    limit: int | None = None
    """Jobs of it that may run at once, whatever their agents; None means no limit."""
    tenant_limit: int | None = None
    """Jobs of one tenant that may run at once; tenants share a queue turn by turn in any case."""
    weights: Mapping[str, int] = field(default_factory=dict)
    """How many jobs a tenant has in its turn; 1 for those that are not here."""
    rate: Rate | None = None
    """How often jobs of it may begin."""
    retry_budget: float | None = 0.2
    """Retries for each first attempt, over a minute, beside ten a second that there may be at any rate: when a service
    is down, its retries must not be all that is done. Those above it wait longer. None means no budget."""

    def problem(self) -> str | None:
        """Why it cannot be used, and the mend; None when it can."""
        if not isinstance(self.name, str) or not self.name:
            return f"Queue({safe_repr(self.name)}): a text"
        for name, value in (("limit", self.limit), ("tenant_limit", self.tenant_limit)):
            if value is not None and (type(value) is not int or value < 1):
                return f"Queue({self.name!r}, {name}={safe_repr(value)}): a whole number >= 1, or None"
        problem = self._weight_problem()
        if problem is not None:
            return f"Queue({self.name!r}, weights={safe_repr(self.weights)}): {problem}"
        if self.retry_budget is not None and not (is_number(self.retry_budget) and 0 <= self.retry_budget < 1e6):  # noqa: PLR2004
            return f"Queue({self.name!r}, retry_budget={safe_repr(self.retry_budget)}): a number >= 0, or None"
        if self.rate is not None and not isinstance(self.rate, Rate):
            return f"Queue({self.name!r}, rate={safe_repr(self.rate)}): a jobs.Rate"
        problem = None if self.rate is None else self.rate.problem()
        return None if problem is None else f"Queue({self.name!r}, rate=Rate(…)): {problem}"

    def _weight_problem(self) -> str | None:
        if not isinstance(self.weights, Mapping):
            return "a dict of tenants"
        for tenant, weight in self.weights.items():
            if not isinstance(tenant, str) or type(weight) is not int or not 1 <= weight <= MOST_WEIGHT:
                return (
                    f"{safe_repr(tenant)}: {safe_repr(weight)} is no tenant with a whole number from 1 to {MOST_WEIGHT}"
                )
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """A number of agents that are all alike."""

    name: str
    size: int = 4
    """Jobs that they do at once."""
    spare: int = 1
    """Agents beside these, ready for when one of them has to be replaced."""
    place: Place = "pool"
    queues: tuple[str, ...] | None = None
    """Whose jobs they do; None means all."""
    max_memory_bytes: int | None = None
    """What each of its processes may hold in memory; for `place="process"`."""
    labels: frozenset[str] = frozenset()
    """What they have: jobs that need more go to others."""
    kinds: tuple[str, ...] = ()
    """The names of what they can do; filled by the engine."""

    def problem(self) -> str | None:
        """Why it cannot be used, and the mend; None when it can."""
        if not is_text(self.name):
            return f"Crew(name={safe_repr(self.name)}): a text"
        problem = next(self._problems(), None)
        return None if problem is None else f"crew {self.name!r}: {problem}"

    def _problems(self) -> Iterator[str]:
        if not (self.queues is None or (_is_many(self.queues) and all(map(is_text, self.queues)))):
            yield f"queues={safe_repr(self.queues)}: a tuple of texts, or None"
        for name, value, least in (("size", self.size, 1), ("spare", self.spare, 0)):
            if type(value) is not int or value < least:
                yield f"{name}={safe_repr(value)}: a whole number >= {least}"
        if self.place not in get_args(Place):
            yield f"place={safe_repr(self.place)}: {', '.join(get_args(Place))}"
        if self.max_memory_bytes is not None and self.place != "process":
            yield "max_memory_bytes is for place='process'"
        problem = label_problem("labels", self.labels)
        if problem is not None:
            yield problem


def _is_many(values: object) -> bool:
    """A text alone would be taken letter by letter."""
    return isinstance(values, tuple | list | set | frozenset)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """An engine's options."""

    name: str
    """The names of its actors begin with it."""
    path: str = field(repr=False)
    """The store's file, or its server, with a password perhaps."""
    kinds: dict[str, Kind[..., Any]]
    """What can be done here, by name."""
    crews: tuple[Crew, ...]
    queues: dict[str, Queue] = field(default_factory=dict)
    profile: Literal["full", "fast"] = "full"
    lease: float = 15.0
    """Seconds after which the jobs of a program that is not heard of are taken back; also that of the lead."""
    now: Callable[[], int] = wall_clock
    """The time that is written down, in milliseconds."""
    cron: tuple[Cron, ...] = ()
    """What is enqueued again and again."""
    keep: float = 604_800.0
    """Seconds after which jobs that have ended are forgotten; dead ones stay."""
    poll: float = 0.1
    """Seconds between two looks for what other programs have enqueued."""
    beat: float | None = None
    """Seconds between two renewals of leases; None means a sixth of the lease."""
    busy: float | None = None
    """Seconds that the store waits for another program's write; None means 5, or a third of the lease if that is
    less."""
    grace: float = 5.0
    """Seconds that a cancelled job has to wind up before its agent is killed."""
    redact: Callable[[str], str] | None = None
    """Takes secrets out of a text that is written or shown."""
    version: str = ""
    """Of the code here; empty when it has none."""
    figures: Figures = field(default_factory=Figures, repr=False, compare=False)
    """What its parts count, once somebody measures."""

    def measure(self) -> None:
        """Have its parts count from now on."""
        self.figures.begin((kind.queue, kind.name) for kind in self.kinds.values())

    def trusted_until(self, sent_at: float) -> float:
        """How long a lease is trusted here, by the monotonic clock, that was asked for at `sent_at`."""
        return sent_at + trusted(self.lease)

    @property
    def lease_ms(self) -> int:
        """The lease as the store counts."""
        return round(self.lease * 1_000)

    @property
    def beat_seconds(self) -> float:
        """Between two renewals."""
        return self.lease / 6 if self.beat is None else self.beat

    @property
    def loan_seconds(self) -> float:
        """How long a handler may keep the writer, which has leases to renew: several may do so one after the other."""
        return min(1.0, self.lease / 15)

    @property
    def again_seconds(self) -> float:
        """Between two attempts at a store that has failed, at most."""
        return self.lease * AGAIN

    @property
    def busy_seconds(self) -> float:
        """How long the store waits."""
        return min(5.0, self.lease / 3) if self.busy is None else self.busy

    def actor(self, cls: type[Any], role: str) -> Name[Any]:
        """The name of one of its actors."""
        return Name(f"{self.name}/{role}", cls)

    def kind_limits(self) -> dict[str, int]:
        """Kinds of which only so many may run at once."""
        return {name: kind.limit for name, kind in self.kinds.items() if kind.limit is not None}

    def queue_names(self) -> set[str]:
        """The queues of which anything here speaks; jobs of others may be enqueued."""
        of_crews = {queue for crew in self.crews for queue in crew.queues or ()}
        return of_crews | self.queues.keys() | {kind.queue for kind in self.kinds.values()}

    def crew(self, name: str) -> Crew:
        """One of the crews."""
        return next(one for one in self.crews if one.name == name)

    def schedules(self) -> list[Schedule]:
        """What is declared here, as the store keeps it."""
        return [
            Schedule(
                id=one.id,
                expr=one.expr,
                tz=one.tz,
                job=new_job(one.spec, 0),
                missed=one.missed,
                most=one.most,
                late=one.late,
                overlap=one.overlap,
                jitter=one.jitter,
            )
            for one in self.cron
        ]

    def backoff_of(self, kind: str) -> Backoff | None:
        """The pauses of a kind; None for one that is not known here."""
        found = self.kinds.get(kind)
        return None if found is None else found.retry.backoff

    def labelled(self, labels: Collection[str]) -> Setup:
        """With these labels for all crews, beside their own. Raises SpecError."""
        problem = label_problem("labels", labels)
        if problem is not None:
            raise SpecError(self.name, problem)
        crews = tuple(replace(one, labels=frozenset(one.labels) | frozenset(labels)) for one in self.crews)
        made = replace(self, crews=crews)
        made.check()
        return made

    def check(self) -> None:
        """Refuse what cannot work, before anything starts. Raises SpecError."""
        for problem in self._problems():
            raise SpecError(self.name, problem)

    def _problems(self) -> Iterator[str]:
        if self.profile not in ("full", "fast"):
            yield f"profile={safe_repr(self.profile)}: full or fast"
        if is_shared(self.name):
            yield f"name={self.name!r}: what begins so is for names that programs share"
        if self.version != "" and not is_text(self.version):
            yield f"version={safe_repr(self.version)}: a text"
        found = [queue.problem() for queue in self.queues.values()] + [crew.problem() for crew in self.crews]
        yield from (problem for problem in found if problem is not None)
        if self.redact is not None and not callable(self.redact):
            yield f"redact={safe_repr(self.redact)}: a function of a text, or None"
        unsound = list(self._unsound())
        yield from unsound or self._unfit()

    def _unsound(self) -> Iterator[str]:
        """Times that are none."""
        for name, value in (
            ("lease", self.lease),
            ("poll", self.poll),
            ("keep", self.keep),
            ("beat", self.beat_seconds),
            ("busy", self.busy_seconds),
            ("grace", self.grace),
        ):
            if not is_seconds(value):
                yield f"{name}={safe_repr(value)}: seconds > 0, and less than {MOST_SECONDS:g}"

    def _unfit(self) -> Iterator[str]:
        """Times that do not go together."""
        for kind in self.kinds.values():
            if not isinstance(kind.until, str) and kind.until > self.keep:
                yield f"{kind.name}: until={kind.until:g} s, but what has ended is forgotten after keep={self.keep:g} s"
        need = 3 * self.beat_seconds + DELAY + self.busy_seconds
        if need > self.lease:
            yield (
                f"lease={self.lease:g}: three beats of {self.beat_seconds:g} s, and a store that is busy for "
                f"{self.busy_seconds:g} s, need {need:g}: a job would be taken for dead while its program lives"
            )
        left = self.lease * (1 - MARGIN - RENEW) - 2 * self.again_seconds
        if self.busy_seconds > left:
            yield (
                f"busy={self.busy_seconds:g}: a lead of {self.lease:g} s that is to be extended has {left:.3g} s left "
                "to wait for the store: a slow one would hand it over"
            )
