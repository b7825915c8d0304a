"""What a hub sees of its fleet: groups of agents, never one agent each."""

from __future__ import annotations

import logging

from otpy.core.seconds import in_seconds
from otpy.core.text import visible
from otpy.core.value import value
from otpy.events.event import Event

__all__ = ["FleetAway", "FleetCalm", "FleetFull", "FleetShareFell", "FleetShareRecovered", "FleetStorm"]


@value(kw_only=True)
class FleetAway(Event):
    """The hub itself was away, or heard nobody: each agent has its full time from now on before it is missed."""

    fleet: str
    """The name of the `FleetView`."""
    seconds: float
    """How long."""
    why: str
    """What it was, in words."""

    def __str__(self) -> str:
        return (
            f"{self.path}: fleet {self.fleet!r}: {self.why} for {in_seconds(self.seconds)}; nobody is missed for that"
        )


@value(kw_only=True)
class FleetCalm(Event):
    """A storm of arrivals is over."""

    fleet: str
    """The name of the `FleetView`."""
    arrivals: int
    """How many came in it."""
    peak: float
    """The most a second."""
    seconds: float
    """How long it lasted."""

    @property
    def level(self) -> int:
        """All is well again."""
        return logging.INFO

    def __str__(self) -> str:
        came = f"{self.arrivals} agents came in {in_seconds(self.seconds)}, up to {self.peak:.0f}/s"
        return f"{self.path}: fleet {self.fleet!r}: the storm is over: {came}"


@value(kw_only=True)
class FleetFull(Event):
    """A hub refuses agents that it does not know, for it has as many as it may. Told once, until there is room."""

    fleet: str
    """The name of the `FleetView`."""
    most: int
    """How many that is."""

    @property
    def level(self) -> int:
        """Agents work that nobody sees."""
        return logging.ERROR

    def __str__(self) -> str:
        return f"{self.path}: fleet {self.fleet!r} has {self.most} agents, and refuses others"


@value(kw_only=True)
class FleetShare(Event):
    """How many of a group's agents are alive: what its falling and its recovery both tell."""

    fleet: str
    """The name of the `FleetView`."""
    label: str | None
    """By which label the group is one; None: it is the whole fleet."""
    value: str | None
    """The label's value that its agents have."""
    share: float
    """The part of them that is alive, from 0 to 1."""
    alive: int
    """How many that are."""
    wanted: int
    """Of how many."""

    def _told(self, how: str) -> str:
        group = "the whole" if self.label is None else f"{visible(self.label)}={visible(self.value or '')}"
        living = f"{self.alive} of {self.wanted} are alive"
        return f"{self.path}: fleet {self.fleet!r}: {group}: {living}{how}"


@value(kw_only=True)
class FleetShareFell(FleetShare):
    """Fewer of a group's agents are alive than should be."""

    below: float
    """The share it fell below."""

    @property
    def level(self) -> int:
        """Somebody should look."""
        return logging.ERROR

    def __str__(self) -> str:
        return self._told(f" ({self.share:.0%}, below {self.below:.0%})")


@value(kw_only=True)
class FleetShareRecovered(FleetShare):
    """Enough of a group's agents are alive again."""

    seconds: float
    """How long they were too few."""

    @property
    def level(self) -> int:
        """All is well again."""
        return logging.INFO

    def __str__(self) -> str:
        return self._told(f" again ({self.share:.0%}) after {in_seconds(self.seconds)}")


@value(kw_only=True)
class FleetStorm(Event):
    """Many agents come at once: new ones, such as were missed, and such as have been restarted."""

    fleet: str
    """The name of the `FleetView`."""
    rate: float
    """How many a second."""
    new: int
    """Nobody knew those."""
    returned: int
    """Those were silent or dead."""
    restarted: int
    """Those are alive in another incarnation than before."""

    def __str__(self) -> str:
        kinds = f"{self.new} new, {self.returned} returned, {self.restarted} restarted"
        return f"{self.path}: fleet {self.fleet!r}: a storm of {self.rate:.0f} agents a second ({kinds})"
