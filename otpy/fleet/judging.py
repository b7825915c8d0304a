"""Which groups have too few of their agents alive, with a gap between too few and enough. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.events.fleet import FleetShareFell, FleetShareRecovered

if TYPE_CHECKING:
    from otpy.events.event import Event
    from otpy.fleet.labels import Group
    from otpy.fleet.plan import Watch

__all__ = ["judged"]


def judged(path: str, fleet: str, group: Group, watch: Watch, now: float) -> Event | None:
    """What is to be told of a group; it remembers what was."""
    share, alive, wanted = group.share, group.alive, group.wanted
    name, value = group.label, group.value
    if group.told is None:
        if wanted < watch.least or share >= watch.below:
            return None
        group.told = now
        return FleetShareFell(
            path=path,
            fleet=fleet,
            label=name,
            value=value,
            share=share,
            alive=alive,
            wanted=wanted,
            below=watch.below,
        )
    if share < watch.above:
        return None
    lasted, group.told = now - group.told, None
    return FleetShareRecovered(
        path=path, fleet=fleet, label=name, value=value, share=share, alive=alive, wanted=wanted, seconds=lasted
    )
