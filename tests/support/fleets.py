"""What tests ask of a hub's view of its fleet."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otpy.fleet import FleetView

__all__ = ["state"]


def state(view: FleetView, name: str = "a") -> str | None:
    """How an agent stands; None: nobody knows it."""
    found = view.agent(name)
    return None if found is None else found.state
