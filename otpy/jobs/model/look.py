"""What somebody wants to see of jobs and queues, and what there is to see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from otpy.core.suggest import did_you_mean
from otpy.core.text import safe_repr
from otpy.jobs.declared import is_text
from otpy.jobs.model.job import State

__all__ = ["CrewLook", "Look", "QueueLook", "Readiness", "ScheduleLook", "StoreLook", "Want", "limit_problem"]

MOST = 2**63 - 1
"""The highest number that a store has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Which jobs somebody wants to see; None means any."""

    queue: str | None = None
    state: State | None = None
    kind: str | None = None
    before: int | None = None
    """Only those with a lower id: the next page."""
    limit: int = 100

    def problem(self) -> str | None:
        """Why nobody can see them, and the mend; None when one can."""
        for name, text in (("queue", self.queue), ("kind", self.kind)):
            if not (text is None or text == "" or is_text(text)):
                return f"{name}={safe_repr(text)}: a text, or None"
        if self.state is not None and self.state not in get_args(State):
            return f"state={safe_repr(self.state)}: {did_you_mean(str(self.state), get_args(State))}"
        if self.before is not None and not (type(self.before) is int and -MOST <= self.before <= MOST):
            return f"before={safe_repr(self.before)}: the number of a job, or None"
        return limit_problem(self.limit)


def limit_problem(limit: object) -> str | None:
    """As `Look.problem`, of how many there shall be at most."""
    if type(limit) is int and 0 <= limit <= MOST:
        return None
    return f"limit={safe_repr(limit)}: a whole number >= 0"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class CrewLook:
    """How a crew is, in the program that is asked."""

    name: str
    place: str
    size: int
    """Jobs that it does at once."""
    desired: int
    """Agents that there shall be: `size` and the spare ones."""
    ready: int
    """Those that there are. Fewer for a moment after one has gone, and for longer when they do not start."""
    problem: str | None = None
    """Why they do not, as the last of them has said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreLook:
    """How it stands with an engine's store, as its own program has found it."""

    path: str
    """The file, or the address of the server without its password."""
    stale: int = 0
    """Writes about attempts that were refused since the engine began, for their jobs had been taken back: ends, notes
    and what was to be done `once`. Each is a `StaleWrite` event, too."""
    problem: str | None = None
    """Why nothing is kept just now; None when all is well."""
    since: float | None = None
    """Seconds for which that has lasted."""
    tries: int = 0
    """How often something was to be kept meanwhile, and was not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Whether an engine takes in jobs, as its own program has found it: what a probe asks."""

    problem: str | None = None
    """Why it does not, in one line; None when it does."""
    since: float | None = None
    """Seconds for which that has lasted, where it is known."""

    @property
    def is_ready(self) -> bool:
        """Whether it does."""
        return self.problem is None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleLook:
    """How a schedule is, whichever program has declared it. Times are milliseconds, as those of jobs."""

    id: str
    expr: str
    tz: str
    kind: str
    """What its jobs are."""
    queue: str
    last_at: int
    """The last of its times that was done, or left out; before the first one, when it was declared."""
    next_at: int | None
    """The next one; None while it is paused, or has a problem."""
    is_paused: bool
    problem: str | None = None
    """Why its times cannot be reckoned here, as when a zone is not known: it is left out by this program."""
