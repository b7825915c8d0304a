"""The words of the benchmark: an experiment fills rows, a side measures it for one contender."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

OTPY, FLOOR = "otpy", "floor"
RIVALS = ("pykka", "lapinbeam", "everything-is-an-actor", "tapio-py")
"""The Python peers; otpy means to be ahead of each on every row."""

Sizes = dict[str, int | float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What one row has to reach."""

    factor: float
    """A ratio of otpy to `against`, or the value itself when `against` is None."""
    against: str | None = None
    """A peer's name, `floor`, or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table."""

    name: str
    unit: str
    what: str
    better: Literal["more", "less"] = "more"
    aims: tuple[Aim, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One thing to do and the rows it fills; each side does it in its own way."""

    name: str
    rows: tuple[Row, ...]
    sides: tuple[str, ...]
    fresh: bool = False
    """Whether it wants processes of its own, that nothing ran in before."""
    rounds: tuple[int, int] = (5, 3)
    """How often: in a full run, in a quick one."""
    full: Sizes = field(default_factory=dict)
    """Its sizes in a full run."""
    quick: Sizes = field(default_factory=dict)
    """What differs in a quick one."""
    per_side: Mapping[str, Sizes] = field(default_factory=dict)
    """What differs for a side that could not bear or does not need the sizes of a full run."""
    per_side_quick: Mapping[str, Sizes] = field(default_factory=dict)
    """The same for a quick run; wins over all."""
    slow: frozenset[str] = frozenset()
    """Sides that take many seconds and are left out of a quick run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One measurement, as it is sent to a side."""

    experiment: str
    fresh: bool = False
    seconds: float = 0.1
    """How long a rate is measured."""
    count: int | None = None
    """How many operations that takes, once it is known from an earlier round."""
    sizes: Sizes = field(default_factory=dict)

    def size(self, name: str) -> int:
        """The size called `name`, as a count."""
        return int(self.sizes[name])


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What one measurement gave."""

    values: dict[str, float]
    """By row; `row@peer` gives a row's value for another peer than the side itself."""
    count: int | None = None
    """The `Job.count` for the next round."""
    notes: dict[str, str] = field(default_factory=dict)
    """By row, what a reader must know about the value."""


class MissingError(Exception):
    """A side that is not installed here, or cannot even be imported."""


class FailedError(Exception):
    """A measurement that gave no figures."""


class Side(Protocol):
    """One contender."""

    @property
    def version(self) -> str:
        """The contender's version, as text."""

    def measure(self, job: Job, timeout: float) -> Figures:
        """Measure once.

        Raises:
            MissingError: the contender cannot be used here.
            FailedError: it broke, or took longer than `timeout` seconds.
        """

    def close(self) -> None:
        """End what it started."""
