"""The standing wish: jobs that become ready while agents rest are claimed by the very commit that makes them so.

So an idle engine begins a job after one sync of the disk instead of two. It is left with the writer, which grants it at
most once; what the scheduler has sent since ends it, or finds it granted, in the order in which the writer does things.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from otpy.jobs.model.claim import Ask, Settled
    from otpy.jobs.model.job import Job
    from otpy.jobs.model.news import News
    from otpy.jobs.scheduler.rights import Right
    from otpy.jobs.store.protocol import Transaction

__all__ = ["Standing"]


class Standing:
    """Wishes for agents that rest. `state` and `before` are the writer's thread's."""

    def __init__(
        self,
        asks: Sequence[Ask],
        right: Right | None,
        before: Standing | None,
        *,
        is_wanted: Callable[[], bool],
        then: Callable[[Standing], object],
    ) -> None:
        """Not granted.

        Args:
            asks: one for each crew.
            right: by what they are claimed; None where there are no wishes.
            before: what it replaces; when that was granted this one never stands, for its agents may have work.
            is_wanted: whether who wishes is there; what is claimed for a dead scheduler would wait for its lease.
            then: told, in the writer's thread, when it was granted and that is kept.
        """
        self.asks, self.right, self.before, self.is_wanted, self.then = asks, right, before, is_wanted, then
        self.state: Literal["stands", "withdrawn", "over"] = "stands"
        """`over`: this one or the one before was granted."""
        self._queues = frozenset[str]().union(*(ask.queues for ask in asks))
        self.granted: list[Ask] = []
        self.jobs: list[Job] | None = []
        """What was claimed; None when this program may claim nothing."""
        self.sent_at = 0.0
        """Leases are trusted from here, by the monotonic clock."""

    def is_as(self, asks: Sequence[Ask], right: Right | None) -> bool:
        """Whether it says the same as one of these wishes would."""
        return self.asks == asks and (self.right == right or not asks)

    def begin(self) -> None:
        """It has come to the writer."""
        if self.before is not None and not self.before.withdraw():
            self.state = "over"
        else:
            self.before = None

    def withdraw(self) -> bool:
        """Grant it no more; False when it is too late."""
        if self.state == "stands":
            self.state = "withdrawn"
        return self.state == "withdrawn"

    def fits(self, news: News) -> bool:
        """Whether something has become ready that is wished for."""
        return self.state == "stands" and not self._queues.isdisjoint(news.ready) and self.is_wanted()

    def grant(self, tx: Transaction, now: float) -> News:
        """Claim, at the end of a transaction that began at `now`; returns what it leaves of the news."""
        paused, self.sent_at = tx.paused(), now
        asked = (self._queues & tx.news.ready) - paused.keys()
        self.granted = [one for ask in self.asks if (one := ask.among(asked)).queues]
        self.jobs = self.right.claim(tx, self.granted) if self.granted and self.right is not None else []
        tx.taken({one for one in asked if not tx.has_ready(one)})
        return tx.news

    def kept(self) -> None:
        """The transaction is kept."""
        self.state = "over"
        self.then(self)

    def unseen(self, give_back: Callable[[Job], Settled]) -> Iterable[Settled]:
        """Withdraw it, and give back what was claimed by it, and by those before it, of which nobody was told."""
        self.withdraw()
        one: Standing | None = self
        while one is not None:
            yield from (give_back(job) for job in one.jobs or () if one.state == "over")
            one = one.before
