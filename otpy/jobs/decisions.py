"""What a job's handler may return instead of a result."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MOST_SECONDS", "Cancel", "Dead", "Snooze"]

MOST_SECONDS = 1e9
"""Some thirty years: no pause is longer, and no delay."""


@dataclass(frozen=True, slots=True)
class Snooze:
    """Go on later; the attempt does not count."""

    seconds: float
    """From now."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """End it: it is not needed any more, and nobody has to look."""

    reason: str


@dataclass(frozen=True, slots=True)
class Dead:
    """Give it up, whatever attempts are left: it goes to the dead letters."""

    reason: str
