"""A program that works on a store beside others, as it says itself and as the store knows it; and whose turn it is."""

from __future__ import annotations

from otpy.core.value import value

__all__ = ["Host", "HostLook", "Station", "given_to"]


@value(kw_only=True)
class Host:
    """What a program says of itself."""

    id: str
    """Of this start alone: a uuid. One that has left, or has been dead, does not come back under it."""
    name: str
    """For people: `machine:pid`."""
    labels: tuple[str, ...] = ()
    """What its agents can do, all crews together; sorted."""
    version: str = ""
    """Of its code, of which several may be at work at once; empty when it has none."""
    agents: int = 0
    """How many it has: jobs that it does at once."""

    @property
    def owner(self) -> str:
        """What the store calls it when it leads."""
        return f"{self.name}:{self.id}"


@value(kw_only=True)
class HostLook:
    """A program as the store knows it. Times are milliseconds of the store's clock."""

    host: Host
    arrived_at: int
    beat_at: int
    """When it was heard of last."""
    until: int
    """When it is dead unless it is heard of again; when it left, if it has."""
    draining_since: int | None
    """Since when it is given nothing more; None while it is."""
    is_alive: bool
    """Whether that time is still to come."""
    is_leading: bool = False
    """Whether it does what is done once; told to who looks at an engine, for each has a lead of its own."""


@value
class Station:
    """Who asks for jobs where every program does: one that has appeared, is alive and does not drain."""

    host: str
    """Its id."""
    version: str = ""
    """Of its code."""


def given_to(version: str, active: str) -> tuple[str, ...]:
    """The versions of the jobs that a program of one version is given; an empty one is of jobs that say none.

    Jobs that say one are for programs of that, whichever is active: so those finish what was begun for them.
    """
    own = (version,) if version else ()
    return ("", *own) if active in ("", version) else own
