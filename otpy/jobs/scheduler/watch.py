"""The times of one attempt: when it is late, silent for too long, or has had its grace. No clock of its own."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal, TypeAlias

__all__ = ["Overdue", "Watch"]

NEVER = inf

EARLY = 1e-6
"""Seconds that a timer may be early, as sums of floats go."""

Overdue: TypeAlias = Literal["cancelled", "parted", "timeout", "stalled"]
"""Why an attempt has to be broken off."""


@dataclass(slots=True)
class Watch:
    """One for each agent, for one job after the other: so a job costs none of its own. Seconds, all of one clock."""

    due_at: float = NEVER
    """When its time is over."""
    stall: float = NEVER
    """Seconds that it may be silent."""
    heard_at: float = 0.0
    """When it began, or last made progress."""
    kill_at: float = NEVER
    """When it is killed, for it was cancelled, or its program is about to stop."""
    is_parting: bool = False
    """Whether that is its program's stop."""
    begun_at: float = 0.0
    """When it began."""
    looks_at: float = NEVER
    """When somebody looks at these: one timer serves an agent for all its jobs."""

    def begin(self, now: float, time: float | None, stall: float | None) -> None:
        """A job begins; it has so much time, and may be silent for so long, without end if None."""
        self.due_at = NEVER if time is None else now + time
        self.stall = NEVER if stall is None else stall
        self.begun_at = self.heard_at = now
        self.kill_at, self.is_parting = NEVER, False

    def warn(self, now: float, grace: float, *, is_parting: bool = False) -> None:
        """It was told that it is cancelled, or to leave, and has so much time to wind up."""
        self.kill_at, self.is_parting = now + grace, is_parting

    @property
    def is_warned(self) -> bool:
        """Whether it was told."""
        return self.kill_at != NEVER

    def overdue(self, now: float) -> Overdue | None:
        """What it has overstepped; a cancellation goes first, for it says what the job ends as."""
        now += EARLY
        if now >= self.kill_at:
            return "parted" if self.is_parting else "cancelled"
        if now >= self.due_at:
            return "timeout"
        return "stalled" if now >= self.heard_at + self.stall else None

    def look_in(self, now: float) -> float | None:
        """Seconds until somebody has to look; None when somebody will by then. One that comes earlier asks again."""
        at = min(self.due_at, self.heard_at + self.stall, self.kill_at)
        if at >= self.looks_at:
            return None
        self.looks_at = at
        return max(at - now, 0.0)

    def looked(self) -> None:
        """The look is over."""
        self.looks_at = NEVER
