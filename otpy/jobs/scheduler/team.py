"""A crew as the scheduler sees it: its agents, and the jobs that were claimed for them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from otpy.jobs.labels import subsets
from otpy.jobs.scheduler.watch import Watch
from otpy.jobs.verdict import hand_of

if TYPE_CHECKING:
    from otpy.jobs.agents.context import Flag
    from otpy.jobs.agents.ear import Ear
    from otpy.jobs.model.job import Job
    from otpy.jobs.setup import Crew
    from otpy.runtime.ref import Ref

__all__ = ["Team", "Worker"]

R = TypeVar("R")

AHEAD = 128
"""Jobs that a team may have at hand at most, beside those that its agents do."""


@dataclass(slots=True)
class Worker(Generic[R]):
    """One agent."""

    name: str
    """What the store calls the owner."""
    ref: R
    team: Team[R]
    ear: Ref[Ear] | None = None
    """Whom to tell that its job was cancelled, when it has a process of its own."""
    job: Job | None = None
    """What it does."""
    flag: Flag | None = None
    """Set when that is cancelled."""
    watch: Watch = field(default_factory=Watch)
    """The times of what it does."""

    def has(self, id: int, token: int) -> bool:
        """Whether it does this."""
        return self.job is not None and self.job.id == id and self.job.token == token


@dataclass(slots=True)
class Team(Generic[R]):
    """The agents of one crew, and the jobs that were claimed for them."""

    crew: Crew
    needs: tuple[str, ...] = ()
    """What jobs may need that its agents can do, as the store writes it."""
    resting: deque[Worker[R]] = field(default_factory=deque)
    busy: int = 0
    hand: deque[Job] = field(default_factory=deque)
    """Claimed, and not begun: where jobs are short, a commit would take longer than they do."""
    ended: int = 0
    """Jobs that ended since the last wishes: so many may be wanted before the next ones are answered."""
    is_open: bool = True
    """Whether it may begin jobs: not while it is stopped."""

    def __post_init__(self) -> None:
        """Its labels stay as they are."""
        self.needs = subsets(self.crew.labels)

    @property
    def free(self) -> int:
        """How many of its agents may begin a job."""
        if not self.is_open:
            return 0
        return max(0, min(len(self.resting), self.crew.size - self.busy))

    @property
    def surplus(self) -> int:
        """How many of its agents are more than there shall be."""
        return len(self.resting) + self.busy - self.crew.size - self.crew.spare

    def owners(self) -> tuple[str, ...]:
        """For whom jobs are wished: agents that rest, then whoever of the team comes first."""
        if not self.is_open:
            return ()
        named = tuple(worker.name for worker, _ in zip(self.resting, range(self.free - len(self.hand)), strict=False))
        # Twice what ended while the last ones came: agents do the one half of it while the other is on its way.
        ahead = min(AHEAD, 2 * self.ended - 1) - max(0, len(self.hand) - self.free)
        return named + (hand_of(self.crew.name),) * ahead

    def drop_hand(self) -> list[Job]:
        """What was claimed and will not be begun."""
        left = list(self.hand)
        self.hand.clear()
        return left
