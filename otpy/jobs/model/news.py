"""What a commit has made possible."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

__all__ = ["News"]


class News(NamedTuple):
    """What others may do now."""

    ready: AbstractSet[str]
    """Queues in which a job has become ready."""
    due: int | None
    """The first time that was written down at which something has to be done."""
