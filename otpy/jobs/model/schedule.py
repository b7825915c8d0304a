"""A schedule, as the store keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from otpy.jobs.model.new import NewJob

__all__ = ["Missed", "Overlap", "Schedule"]

Missed: TypeAlias = Literal["skip", "latest", "all"]
"""What happens to times at which nobody led: they are left out when they are late, or the last of them is done, or all
of them, but no more than `most`."""

Overlap: TypeAlias = Literal["allow", "skip", "queue_one", "cancel_old"]
"""What happens when the last job of a schedule has not ended: another beside it; none; one, unless one waits already;
the old one is cancelled."""


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
