"""Who leads, and who holds a name, as the store knows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from otpy.core.value import value

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["SHARED", "Fence", "Lead", "NameLook", "is_shared"]

SHARED = "names/"
"""So begins what the store calls a name that programs share; what they call their engines may not begin so."""


def is_shared(key: str) -> bool:
    """Whether that is a name which programs share, and not what an engine calls its lead."""
    return key.startswith(SHARED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """Who leads, or holds a name: what it writes under this is refused when another one has been elected since.

    An outside system that keeps the highest epoch it has seen of a name can refuse what comes later with a lower one.
    Plain data, for any place.
    """

    name: str
    """What was elected for."""
    epoch: int
    """One more at each election, whatever ends meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """Who was elected last, as its row says."""

    owner: str
    epoch: int
    """One more at each election."""
    elected_at: int
    expires_at: int
    """When it is over unless its owner extends it; written by the owner, whatever others would have set."""
    ttl_ms: int
    """How long the owner extends it each time."""

    @classmethod
    def of(cls, row: Sequence[int | str]) -> Lead:
        """As the store has it, in this order."""
        owner, epoch, elected_at, expires_at, ttl_ms = row
        return cls(
            owner=str(owner),
            epoch=int(epoch),
            elected_at=int(elected_at),
            expires_at=int(expires_at),
            ttl_ms=int(ttl_ms),
        )


@value(kw_only=True)
class NameLook:
    """Who holds a name that programs share, or was the last to hold it."""

    name: str
    """As in `singleton`."""
    host: str
    """The program: its machine, and its process id there."""
    epoch: int
    """Under which it holds the name; the next one to hold it has a higher one."""
    since: int
    """When it was elected, in milliseconds."""
    until: int
    """When it holds the name no longer unless it extends that, in milliseconds."""
    is_held: bool
    """Whether that is still to come."""

    @classmethod
    def of(cls, key: str, lead: Lead, now: int) -> NameLook:
        """From its row."""
        return cls(
            name=key.removeprefix(SHARED),
            host=lead.owner.rpartition(":")[0],
            epoch=lead.epoch,
            since=lead.elected_at,
            until=lead.expires_at,
            is_held=lead.expires_at > now,
        )
