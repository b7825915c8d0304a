"""What happens around jobs, apart from the work itself."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from otpy.events.event import Event

__all__ = ["CrewChanged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CrewChanged(Event):
    """A crew has more agents than before, or fewer, or one did not start."""

    crew: str
    """Its name."""
    desired: int
    """How many there shall be: those that work, and the spare ones."""
    ready: int
    """How many there are."""
    failures: int
    """Starts that failed one after the other, each followed by a longer pause; the retries of jobs count apart."""
    why: str | None
    """Why the last one ended, or did not start."""

    @property
    def level(self) -> int:
        """A warning when agents do not start; that one ends and is replaced is every day's business."""
        return logging.WARNING if self.failures else logging.DEBUG

    def __str__(self) -> str:
        told = "" if self.why is None else f": {self.why}"
        failed = f", {self.failures} starts failed" if self.failures else ""
        return f"{self.path}: crew {self.crew!r} has {self.ready} of {self.desired} agents{failed}{told}"
