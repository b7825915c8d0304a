"""In which queues something may be ready: so that the store is asked only where there may be an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otpy.jobs.setup import Crew

__all__ = ["Hopes"]


class Hopes:
    """Each queue that was ever spoken of, and the crews for which there was nothing in it when they last asked.

    What is said of a queue while a question is on its way is not undone by the answer: that may be older.
    """

    def __init__(self) -> None:
        """Nothing is known of any queue."""
        self._without: dict[str, set[str]] = {}
        self._news: set[str] = set()

    def add(self, queues: Iterable[str]) -> None:
        """There may be work in these, for any crew."""
        for queue in sorted(queues):  # a set of texts has another order in each program
            self._without.setdefault(queue, set()).clear()
            self._news.add(queue)

    def renew(self) -> None:
        """There may be work in all of them."""
        self.add(list(self._without))

    def ask(self) -> None:
        """A question goes on its way."""
        self._news.clear()

    def found_less(self, queue: str, crew: str) -> None:
        """It gave this crew less than was asked, so it has no more for it, unless something was said of it since.

        It was asked in any case, and comes behind those that were not: there is hope anew each second, and with
        thousands that give nothing the last of them would never have its turn.
        """
        self.had_turn(queue)
        if queue not in self._news:
            self._without[queue].add(crew)

    def had_turn(self, queue: str) -> None:
        """It was asked: the others come before it, so that one with very many jobs does not keep all agents."""
        self._without[queue] = self._without.pop(queue)

    def known(self, crew: Crew) -> list[str]:
        """All that were ever spoken of, and of which a crew does jobs."""
        return [queue for queue in self._without if crew.queues is None or queue in crew.queues]

    def queues(self, crew: Crew) -> list[str]:
        """Where there may be work for a crew; the one that has waited longest for its turn first."""
        return [queue for queue in self.known(crew) if crew.name not in self._without[queue]]
