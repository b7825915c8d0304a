"""What a commit has made possible."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet
    from typing import Literal

    from otpy.jobs.model.new import NewJob

__all__ = ["News", "Stale"]


class Stale(NamedTuple):
    """Something about an attempt that was not written, for its job had been taken back."""

    id: int
    token: int
    what: Literal["end", "note", "once"]
    """How it ended; how far it was; what it was to do once."""


class News(NamedTuple):
    """What others may do now."""

    ready: AbstractSet[str]
    """Queues in which a job has become ready."""
    due: int | None
    """The first time that was written down at which something has to be done."""
    stale: tuple[Stale, ...] = ()
    """What was refused."""
    made: Sequence[NewJob] = ()
    """What was enqueued."""
