"""Readings: the values of all metrics at one moment, to be exported, pushed, or put together with those of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from otpy.metrics.catalogue import CATALOGUE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otpy.core.histogram import Histogram

__all__ = ["MOST_TEXT", "OTHER", "Bound", "Distribution", "Reading", "Sheet", "Value"]

OTHER = "other"
"""The value of a label that stands for all beyond its bound."""

MOST_TEXT = 300
"""Characters of the value of a label; what is longer is nobody's name."""

FIXED = (("state",), ("why",))
"""Last labels that have a few values, which otpy itself gives them."""


class Distribution(NamedTuple):
    """Of a histogram: how many took at most so long, for each bound and for infinity, and how long all took."""

    buckets: tuple[tuple[float, int], ...]
    total: float


Value = float | Distribution
Reading = dict[str, dict[tuple[str, ...], Value]]
"""By name of the metric and values of its labels."""


class Bound:
    """How many values of labels are told apart, of each metric: those that come first, for they are to stay the same.

    What a metric has of each of them, as its states, is not counted.
    """

    def __init__(self, most: int) -> None:
        """None has come."""
        self._most = most
        self._known: dict[str, set[tuple[str, ...]]] = {}

    def key(self, name: str, labels: tuple[str, ...]) -> tuple[str, ...]:
        """The labels, or what stands for all beyond the bound."""
        fixed = 1 if CATALOGUE[name].labels[-1:] in FIXED else 0
        head = labels[: len(labels) - fixed]
        known = self._known.setdefault(name, set())
        if head in known:
            return labels
        if len(known) >= self._most or any(len(label) > MOST_TEXT for label in head):
            return (*(OTHER,) * len(head), *labels[len(head) :])
        known.add(head)
        return labels


class Sheet:
    """A reading that is being filled."""

    def __init__(self, bound: Bound) -> None:
        """Empty."""
        self.reading: Reading = {}
        self._bound = bound

    def set(self, name: str, value: float, *labels: str) -> None:
        """So much; what has the same labels, as all beyond the bound do, is added up."""
        found, key = self._of(name), self._bound.key(name, labels)
        before = found.get(key, 0.0)
        assert not isinstance(before, Distribution)  # noqa: S101 - the catalogue says which are
        found[key] = before + value

    def set_all(self, name: str, values: Mapping[tuple[str, ...], float]) -> None:
        """Those of one metric; they are bounded by whoever has counted."""
        self._of(name).update(values)

    def distribute(self, name: str, histogram: Histogram, *labels: str) -> None:
        """A histogram."""
        self._of(name)[labels] = Distribution(tuple(histogram.cumulated()), histogram.total)

    def _of(self, name: str) -> dict[tuple[str, ...], Value]:
        return self.reading.setdefault(CATALOGUE[name].name, {})
