"""What a writer makes of a store that fails: it says so once, and takes nothing for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.core.backoff import Backoff, delay
from otpy.events.jobs import StaleWrite, StoreFailed, StoreRecovered

if TYPE_CHECKING:
    from otpy.jobs.errors import StoreError
    from otpy.jobs.health import Health
    from otpy.jobs.loan import Loan
    from otpy.jobs.model.news import News
    from otpy.jobs.submitted import Told
    from otpy.runtime.caller import Caller
    from otpy.runtime.ref import Ref

__all__ = ["MOST", "Failing"]

FIRST, MOST = 0.1, 5.0
"""Seconds between a failure of the store and the next attempt to write, and at most when it goes on failing."""


class Failing:
    """The failures in a row, with the pause after the last one; used in the writer's thread."""

    def __init__(self, writer: Ref[Any], health: Health, most: float) -> None:
        """Well so far; a pause lasts at most so many seconds."""
        self._ref = writer
        self._health = health
        self._pauses = Backoff(first=min(FIRST, most), most=most)
        self._failure: StoreError | None = None
        self._failures = 0
        self._closed_until = 0.0

    def is_closed_to(self, waiter: Caller | Told | Loan) -> bool:
        """Whether it pauses after a failure: then this one was told of that."""
        if self._failure is None or self._ref.system.clock.now() >= self._closed_until:
            return False
        self.refuse(waiter, self._failure)
        return True

    def refuse(self, waiter: Caller | Told | Loan, error: StoreError) -> None:
        """Nothing of it is kept."""
        if self._health.outage is not None:
            self._health.outage.refused += 1
        waiter.refuse(self.once_more(error))

    def once_more(self, error: StoreError) -> StoreError:
        """Another object that says the same, and since when it is so: each caller gets its own."""
        outage = self._health.outage
        return type(error)(error.path, error.problem) if outage is None else outage.told(self._ref.system.clock.now())

    def well(self, news: News) -> None:
        """A commit is kept: what of it is told."""
        self._failure, self._failures = None, 0
        outage = self._health.works(self._ref.system.clock.now())
        if outage is not None:
            lasted, file, path = outage.failed_at - outage.since, outage.error.path, self._ref.path
            self._ref.system.events.emit(StoreRecovered(path=path, store=file, seconds=lasted, refused=outage.refused))
        self._health.kept(news)
        for one in news.stale:
            self._ref.system.events.emit(StaleWrite(path=self._ref.path, job=one.id, token=one.token, what=one.what))

    def fail(self, error: StoreError, *, is_look: bool = False) -> None:
        """The store has failed: tell of the first time, and pause."""
        if self._health.failed(error, self._ref.system.clock.now(), is_look=is_look):
            kind, path = type(error).__name__, self._ref.path
            self._ref.system.events.emit(StoreFailed(path=path, store=error.path, error=kind, problem=error.problem))
        pause = delay(self._pauses, self._failures, self._ref.system.random.random())
        self._failure, self._failures = error, self._failures + 1
        self._closed_until = self._ref.system.clock.now() + pause
