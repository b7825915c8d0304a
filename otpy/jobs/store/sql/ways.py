"""What databases do each in its own way, while the rules are the same for all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from otpy.jobs.model.claim import Ask
    from otpy.jobs.model.job import Job
    from otpy.jobs.store.sql.base import Base
    from otpy.jobs.store.sql.tally import Tally

    Giving: TypeAlias = Callable[[Base, Ask, str, tuple[str, ...]], Iterator[str]]
    Claiming: TypeAlias = Callable[[Base, Tally, Ask, int], list[Job] | None]
    Row: TypeAlias = tuple[int, str, str, int, int]
    First: TypeAlias = Callable[[Base, Ask, Sequence[str], int], Iterable[Row]]
    Taking: TypeAlias = Callable[[Base, Tally, Ask, Sequence[int], int], list[Job]]
    Locking: TypeAlias = Callable[[Base, list[str]], object]

__all__ = ["Ways"]


@dataclass(frozen=True, slots=True)
class Ways:
    """What a database has a way of its own for."""

    giving: Giving
    """Which queues of a wish have something, in their order; with what limits that, and its values."""
    claim: Claiming
    """Take the first ones, without limits; None where tenants share the queue."""
    first: First
    """The first jobs of each of these tenants that a wish is for, as many of each as it has owners, and when."""
    take: Taking
    """Give some jobs to the owners of a wish, in their order, without those that others are at."""
    lock: Locking
    """Have who else asks for one of these keys wait; they are sorted."""
