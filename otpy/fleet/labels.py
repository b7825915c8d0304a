"""Agents by their labels: each set of labels is kept once, and each group counts its agents by how they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["AWOL", "DEGRADED", "DRAINING", "GONE", "LOST", "NEVER", "NORMAL", "SILENT", "Group", "LabelSet", "Labels"]

NORMAL: Final = 0
DEGRADED: Final = 1
DRAINING: Final = 2
"""Up to here it is alive."""
SILENT: Final = 3
LOST: Final = 4
"""Dead: it was silent for too long."""
GONE: Final = 5
"""Dead: it has said goodbye, and nobody misses it."""
AWOL: Final = 6
"""Dead: it has said goodbye, and is expected nevertheless."""
NEVER: Final = 7
"""It is expected by name, and was never heard."""

OTHER = "(other)"
"""The value under which all are found for whose own one there was no room."""
OTHERS = 100
"""Labels that may have such a group beyond the limit."""


class Group:
    """The agents with one value of one label."""

    __slots__ = ("expected", "label", "members", "numbers", "told", "value")

    def __init__(self, label: str | None, value: str | None) -> None:
        """Nobody yet."""
        self.label, self.value = label, value
        self.numbers = [0] * (NEVER + 1)
        """Agents by how they stand."""
        self.members = 0
        """Sets of labels that have it."""
        self.expected = 0
        """How many somebody has said there are."""
        self.told: float | None = None
        """Since when it is known to be too few."""

    @property
    def alive(self) -> int:
        """Those that are, degraded and draining ones too."""
        return sum(self.numbers[:SILENT])

    @property
    def known(self) -> int:
        """All that are in the books."""
        return sum(self.numbers)

    @property
    def present(self) -> int:
        """All of those but such as have said goodbye and are not expected by name."""
        return self.known - self.numbers[GONE]

    @property
    def never(self) -> int:
        """Those that were never heard, with and without a name."""
        return self.numbers[NEVER] + max(0, self.expected - self.known)

    @property
    def wanted(self) -> int:
        """Of how many the living are a part: who has said goodbye counts only where it is expected."""
        return max(self.expected, self.present)

    @property
    def share(self) -> float:
        """The part that is alive; 1 where nobody is wanted."""
        return self.alive / self.wanted if self.wanted else 1.0


class Whole(Group):
    """All agents, with those that are expected of any group."""

    __slots__ = ("counted",)

    def __init__(self) -> None:
        """Nobody yet."""
        super().__init__(None, None)
        self.counted: dict[Group, None] = {}
        """The groups of which somebody has said how many there are."""

    @property
    def never(self) -> int:
        """As that of a group; who is missing by several labels is so once."""
        missing = self._missing(lambda group: group.expected - group.known)
        return self.numbers[NEVER] + max(missing, self.expected - self.known)

    @property
    def wanted(self) -> int:
        """As that of a group, and as above."""
        return max(self.expected, self.present + self._missing(lambda group: group.expected - group.present))

    def _missing(self, of: Callable[[Group], int]) -> int:
        sums: dict[str | None, int] = {}
        for group in list(self.counted):  # whoever looks need not have the lock
            sums[group.label] = sums.get(group.label, 0) + max(0, of(group))
        return max(sums.values(), default=0)


class LabelSet:
    """The same labels of many agents."""

    __slots__ = ("agents", "groups", "key", "labels")

    def __init__(self, key: frozenset[tuple[str, str]], labels: dict[str, str], groups: tuple[Group, ...]) -> None:
        """Nobody has them yet."""
        self.key, self.labels, self.groups = key, labels, groups
        self.agents = 0


class Labels:
    """All sets and groups; those that nobody has any more are dropped."""

    def __init__(self, most: int) -> None:
        """At most so many groups; agents with further values are counted together."""
        self.whole = Whole()
        self._most = most
        self._groups: dict[tuple[str, str], Group] = {}
        self._sets: dict[frozenset[tuple[str, str]], LabelSet] = {}

    def __iter__(self) -> Iterator[Group]:
        yield self.whole
        yield from self._groups.values()

    def named(self, label: str) -> list[Group]:
        """The groups by one label."""
        return [group for (name, _), group in self._groups.items() if name == label]

    def names(self) -> list[str]:
        """All labels."""
        return sorted({name for name, _ in self._groups})

    def take(self, labels: Mapping[str, str]) -> LabelSet:
        """The set with these, with one agent more."""
        key = frozenset(labels.items())
        found = self._sets.get(key)
        if found is None:
            groups = tuple(dict.fromkeys(self.group(*pair) for pair in sorted(key)))
            found = self._sets[key] = LabelSet(key, dict(labels), (self.whole, *groups))
            for group in found.groups:
                group.members += 1
        found.agents += 1
        return found

    def leave(self, one: LabelSet) -> None:
        """One agent less has it."""
        one.agents -= 1
        if not one.agents:
            del self._sets[one.key]
            for group in one.groups:
                group.members -= 1
                self.tidy(group)

    def group(self, label: str, value: str) -> Group:
        """That of one value; where there is no room for it, the one of all others."""
        found = self._groups.get((label, value))
        if found is None:
            if len(self._groups) >= self._most and value != OTHER:
                return self._groups.get((label, OTHER)) or self.group(
                    label if len(self._groups) < self._most + OTHERS else OTHER, OTHER
                )
            found = self._groups[label, value] = Group(label, value)
        return found

    def expect(self, label: str, value: str, count: int) -> Group:
        """So many are to be in a group."""
        group = self.group(label, value)
        group.expected = count
        if count:
            self.whole.counted[group] = None
        else:
            self.whole.counted.pop(group, None)
        return group

    def tidy(self, group: Group) -> None:
        """Drop a group of which nothing is to be known any more."""
        if not (group.members or group.expected or group.told is not None) and group.label is not None:
            self._groups.pop((group.label, group.value or ""), None)
