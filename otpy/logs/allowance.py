"""How often the same is written: the first lines of a storm whole, of all others the number."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

__all__ = ["SECOND", "Allowance", "Storm"]

SECOND = 1.0
"""Seconds that are counted together."""
MOST = 1_000
"""Kinds of lines that are told apart at a time; with more of them the oldest are closed early."""


@dataclass(slots=True)
class Storm:
    """Lines of one kind within a second."""

    began: float
    count: int = 0
    left_out: int = 0
    last: Any = None
    """The last one that was left out."""


class Allowance:
    """So many of a kind in a second; pure, and used by one thread at a time."""

    def __init__(self, each: int | None) -> None:
        """`each` of a kind; None: all."""
        self.each = each
        self._storms: OrderedDict[Hashable, Storm] = OrderedDict()

    def takes(self, key: Hashable, line: object, now: float) -> bool:
        """Whether this one is written; call `over` before, so that what was left out of its kind is told first."""
        if self.each is None:
            return True
        storm = self._storms.get(key)
        if storm is None:
            storm = self._storms[key] = Storm(now)
        storm.count += 1
        if storm.count <= self.each:
            return True
        storm.left_out += 1
        storm.last = line
        return False

    def over(self, now: float) -> Iterator[Storm]:
        """The storms whose second is over, each once, and none of them where nothing was left out."""
        while self._storms:
            key, storm = next(iter(self._storms.items()))  # they stand in the order in which they began
            if len(self._storms) <= MOST and now - storm.began < SECOND:
                break
            del self._storms[key]
            if storm.left_out:
                yield storm

    @property
    def owes(self) -> bool:
        """Whether something was left out that is not told yet."""
        return any(storm.left_out for storm in self._storms.values())
