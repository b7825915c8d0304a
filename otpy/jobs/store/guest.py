"""A connection of the caller's own, in whose transaction jobs are enqueued."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from otpy.jobs.model.lead import Fence
    from otpy.jobs.model.new import Inserted, NewJob
    from otpy.jobs.store.sql.base import Base
    from otpy.jobs.store.sql.tally import Tally

__all__ = ["Guest"]


@dataclass(frozen=True, slots=True)
class Guest:
    """It, in a transaction, as the statements of a store want it."""

    path: str
    """What its store is called in errors."""
    db: Base
    now: int
    """The store's time."""
    tally: Tally
    version: int
    """That of the tables; 0 where there are none."""
    known: int
    """That of the tables which this otpy writes."""
    make: Callable[[], object]
    """Makes the tables."""
    insert: Callable[[Sequence[NewJob], int], list[Inserted]]
    """Enqueues them in this order, at this time."""
    under: Callable[[Fence, int], str | None]
    """The active version, if this one leads at this time: until the caller's transaction has ended nobody else does."""
    call: Callable[[], object]
    """Has the programs that work on the store told, when the caller has committed."""
