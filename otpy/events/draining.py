"""A program, or a part of it, that works off what it has before it stops."""

from __future__ import annotations

import logging

from otpy.core.seconds import in_seconds
from otpy.core.text import place_line
from otpy.core.value import value
from otpy.events.event import Event

__all__ = ["DrainBegun", "DrainEnded", "DrainFailed", "DrainLate", "DrainPhase"]


@value(kw_only=True)
class DrainBegun(Event):
    """Somebody has told a program, or a part of it, to stop; it begins to drain."""

    reason: str
    """Who, in words."""
    seconds: float
    """In which all of it must have stopped."""

    @property
    def level(self) -> int:
        """As it was wanted."""
        return logging.INFO

    def __str__(self) -> str:
        return f"{self.path}: drains, and stops within {in_seconds(self.seconds)}: {self.reason}"


@value(kw_only=True)
class DrainPhase(Event):
    """One phase of a drain is over."""

    phase: str
    """`quiesce`, `drain`, `checkpoint`, `flush` or `release`."""
    seconds: float
    """How long it took."""
    remaining: float
    """Seconds that are left for all the others."""
    late: int
    """How many were not waited for any longer."""

    @property
    def level(self) -> int:
        """A warning when somebody was late."""
        return logging.WARNING if self.late else logging.INFO

    def __str__(self) -> str:
        late = f", {self.late} {'was' if self.late == 1 else 'were'} late" if self.late else ""
        return f"{self.path}: {self.phase} took {in_seconds(self.seconds)}{late}; {in_seconds(self.remaining)} are left"


@value(kw_only=True)
class DrainLate(Event):
    """Somebody was not done in the time of a phase, which goes on without."""

    phase: str
    """Which one."""
    why: str
    """What it has not done: the hook that has not returned, what it says is in flight, the message it is in."""
    thread: str | None
    """The OS thread that runs its code."""
    frame: str | None
    """Where that code is."""
    names: tuple[str, ...] = ()
    """What it says is in flight, the first of it: of an engine of jobs their ids."""

    def __str__(self) -> str:
        named = f": {', '.join(self.names)}" if self.names else ""
        frame = None if self.frame and self.frame in self.why else self.frame  # said already
        place = f"on {self.thread}" if frame is None and self.thread else place_line(self.thread, frame)
        return f"{self.path}: late in {self.phase}: {self.why}{named}; it is {place}"


@value(kw_only=True)
class DrainFailed(Event):
    """What was asked of somebody in a phase of a drain went wrong; the drain goes on."""

    phase: str
    """Which one."""
    problem: str
    """What was raised, as one line."""

    @property
    def level(self) -> int:
        """What should have been done was not."""
        return logging.ERROR

    def __str__(self) -> str:
        return f"{self.path}: failed in {self.phase}: {self.problem}"


@value(kw_only=True)
class DrainEnded(Event):
    """A program, or a part of it, has drained and stopped."""

    reason: str
    """Who told it to, in words."""
    seconds: float
    """How long all of it took."""
    undone: tuple[str, ...]
    """What was left undone, in words; empty when all has finished or was given back."""

    @property
    def level(self) -> int:
        """A warning when something was left."""
        return logging.WARNING if self.undone else logging.INFO

    def __str__(self) -> str:
        left = f"; left: {', '.join(self.undone)}" if self.undone else ""
        return f"{self.path}: has drained and stopped in {in_seconds(self.seconds)}{left}"
