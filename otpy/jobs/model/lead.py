"""Who leads, as the store knows it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Fence", "Lead"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """Who leads: what a leader writes is refused when another has been elected since."""

    name: str
    epoch: int


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
