"""In which queues something may be ready: so that the store is asked only where there may be an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otpy.jobs.setup import Crew

__all__ = ["Hopes"]


class Hopes:
    """Each queue that was ever spoken of, and those that may have something, for each crew.

    What is said of a queue while a question is on its way is not undone by the answer: that may be older. A queue that
    gave nothing costs nothing until something is said of it again.
    """

    def __init__(self) -> None:
        """Nothing is known of any queue."""
        self._turns: dict[str, int] = {}
        """The number of the last turn that each had: the lowest has waited longest."""
        self._last = 0
        self._crews: dict[str, tuple[Crew, set[str]]] = {}
        self._news: set[str] = set()

    def add(self, queues: Iterable[str]) -> None:
        """There may be work in these, for any crew."""
        for queue in sorted(queues):  # a set of texts has another order in each program
            if queue not in self._turns:
                self.had_turn(queue)
            self._news.add(queue)
            for crew, hopes in self._crews.values():
                if _does(crew, queue):
                    hopes.add(queue)

    def renew(self) -> None:
        """There may be work in all of them."""
        self.add(list(self._turns))

    def ask(self) -> None:
        """A question goes on its way."""
        self._news.clear()

    def found_none(self, queue: str, crew: str) -> None:
        """It has no more for this crew, unless something was said of it since."""
        if queue not in self._news and crew in self._crews:
            self._crews[crew][1].discard(queue)

    def had_turn(self, queue: str) -> None:
        """It was asked, in vain or not: the others come before it.

        So one with very many jobs does not keep all agents, and the last of thousands has its turn.
        """
        self._last += 1
        self._turns[queue] = self._last

    def known(self, crew: Crew) -> list[str]:
        """All that were ever spoken of, and of which a crew does jobs."""
        return [queue for queue in self._turns if _does(crew, queue)]

    def __len__(self) -> int:
        """How many were ever spoken of."""
        return len(self._turns)

    def queues(self, crew: Crew) -> list[str]:
        """Where there may be work for a crew; the one that has waited longest for its turn first."""
        if crew.name not in self._crews:
            self._crews[crew.name] = crew, set(self.known(crew))
        return sorted(self._crews[crew.name][1], key=self._turns.__getitem__)


def _does(crew: Crew, queue: str) -> bool:
    return crew.queues is None or queue in crew.queues
