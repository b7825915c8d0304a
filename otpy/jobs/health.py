"""How it stands with an engine's store: an outage while there is one, and how many writes it has refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from otpy.jobs.errors import StoreError
from otpy.jobs.figures import BUSY, Figures
from otpy.jobs.model.look import Readiness, StoreLook

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.jobs.model.news import News

__all__ = ["Health", "Outage"]


HANGS = 0.5
"""Seconds after which a store that has failed before is taken to hang."""

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
    tries: int = 1
    """Transactions that have failed."""
    refused: int = 0
    """Requests of which nothing was kept."""
    is_of_looks: bool = False
    """Whether it has failed in looks alone, so that one that succeeds is enough to know that it is over."""
    is_failing: bool = True
    """Whether nothing was kept since the last one."""

    def told(self, now: float) -> StoreError:
        """The last error once more, for one more who hears of it: with how long it has been so."""
        error, seconds = self.error, max(0.0, now - self.since)
        return type(error)(error.path, error.problem, seconds=seconds, tries=self.tries)


class Health:
    """Changed in the writer's thread, read in any; an engine has one, which outlives a writer that is started again."""

    def __init__(self, figures: Figures | None = None) -> None:
        """Well; `figures` are those of the engine."""
        self.figures = Figures() if figures is None else figures
        self.outage: Outage | None = None
        self.asked_at: float | None = None
        """When the store was asked for what it has not answered yet; None while it is asked for nothing."""
        self.is_slow = False
        """Whether the last failure took long to come, so that the next one will."""
        self.was_open = False
        """Whether the store was ever there."""
        self.stale = 0
        """Writes about attempts that were over."""

    def begins(self, now: float) -> float:
        """The store is asked, at this time."""
        self.asked_at = now
        return now

    def answered(self, what: str, clock: Callable[[], float]) -> None:
        """It has answered, or failed."""
        asked_at, self.asked_at = self.asked_at, None
        if self.figures.is_on and asked_at is not None:
            self.figures.store[what].observe(clock() - asked_at)

    def kept(self, news: News) -> None:
        """A commit is: what of it is counted."""
        self.stale += len(news.stale)
        if self.figures.is_on and news.made:
            self.figures.enqueued(news.made)

    def met(self, error: StoreError) -> None:
        """A transaction has failed, and maybe only for another one."""
        if type(error).__name__ in BUSY:
            self.figures.busy += 1

    def failed(self, error: StoreError, now: float, *, is_look: bool = False) -> bool:
        """The store has failed; whether it was well until then. `is_look`: nothing was to be written."""
        outage = self.outage
        self.is_slow = self.asked_at is not None and now - self.asked_at > HANGS
        if outage is None:
            self.outage = Outage(error, now, now, is_of_looks=is_look)
        else:
            outage.is_of_looks = outage.is_of_looks and is_look
            outage.error, outage.failed_at, outage.is_failing = error, now, True
            outage.tries += 1
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
        since = max(0.0, now - outage.since)
        return StoreLook(path=path, stale=self.stale, problem=outage.error.problem, since=since, tries=outage.tries)

    def hangs(self, now: float) -> StoreError | None:
        """What to say to who would wait for a server that has failed and, asked again, says nothing; None if none does.

        What fails at once needs no such word: whoever asks finds out whether it is over.
        """
        outage, asked_at = self.outage, self.asked_at
        if outage is None or asked_at is None or not outage.is_failing or type(outage.error) is not StoreError:
            return None
        return outage.told(now) if self.is_slow or now - asked_at > HANGS else None

    def readiness(self, path: str, now: float, patience: float) -> Readiness:
        """Whether anything is kept; a store that has not answered for longer than one waits for it keeps nothing."""
        found = self.look(path, now)
        if found.problem is not None:
            tries = f", in {found.tries} tries" if found.tries > 1 else ""
            return Readiness(problem=f"{path}: nothing is kept{tries}: {found.problem}", since=found.since)
        asked_at = self.asked_at
        if asked_at is not None and now - asked_at > patience:
            return Readiness(problem=f"{path}: it does not answer", since=now - asked_at)
        return Readiness()
