"""How it stands with an engine's store: an outage while there is one, and how many writes it has refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from otpy.jobs.model.look import StoreLook

if TYPE_CHECKING:
    from otpy.jobs.errors import StoreError

__all__ = ["Health", "Outage"]


CALM = 5.0
"""Seconds without a failure after which an outage is over: on a full disk small writes may find room in between."""


@dataclass(slots=True)
class Outage:
    """A time in which the store has kept nothing, or not all."""

    error: StoreError
    """The last one."""
    since: float
    """When the first one was, by the system's clock."""
    failed_at: float
    """When the last one was."""
    refused: int = 0
    """Requests of which nothing was kept."""
    is_failing: bool = True
    """Whether nothing was kept since the last one."""


class Health:
    """Changed in the writer's thread, read in any; an engine has one, which outlives a writer that is started again."""

    def __init__(self) -> None:
        """Well."""
        self.outage: Outage | None = None
        self.stale = 0
        """Writes about attempts that were over."""

    def failed(self, error: StoreError, now: float) -> bool:
        """The store has failed; whether it was well until then."""
        outage = self.outage
        if outage is None:
            self.outage = Outage(error, now, now)
        else:
            outage.error, outage.failed_at, outage.is_failing = error, now, True
        return outage is None

    def works(self, now: float) -> Outage | None:
        """The store has kept something; the outage that is over with that."""
        outage = self.outage
        if outage is None:
            return None
        outage.is_failing = False
        if now - outage.failed_at < CALM:
            return None
        self.outage = None
        return outage

    def look(self, path: str, now: float) -> StoreLook:
        """How it is, for people."""
        outage = self.outage
        if outage is None or not outage.is_failing:
            return StoreLook(path=path, stale=self.stale)
        return StoreLook(path=path, stale=self.stale, problem=outage.error.problem, since=max(0.0, now - outage.since))
