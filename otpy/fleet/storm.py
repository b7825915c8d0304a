"""Arrivals a second, and when they are a storm. Pure: told the time, and what came."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.events.fleet import FleetCalm, FleetStorm

if TYPE_CHECKING:
    from otpy.events.event import Event

__all__ = ["Storm"]

CALM = 10.0
"""Seconds without many after which it is over."""


class Storm:
    """It begins with more than `limit` arrivals a second, and is over after ten seconds with less than half of that."""

    def __init__(self, limit: float) -> None:
        """None now."""
        self._limit = limit
        self.new = self.returned = self.restarted = 0
        """Who came since the last look."""
        self._since: float | None = None
        self._rough = 0.0
        """When there were last many."""
        self._arrivals = 0
        self._peak = 0.0

    @property
    def is_on(self) -> bool:
        """Whether there is one."""
        return self._since is not None

    def look(self, path: str, fleet: str, now: float, seconds: float, *, counts: bool) -> Event | None:
        """What is to be told after so many seconds; unless it `counts`, that many came is as it should be."""
        new, returned, restarted = self.new, self.returned, self.restarted
        self.new = self.returned = self.restarted = 0
        arrivals = new + returned + restarted
        rate = arrivals / max(seconds, 1.0) if counts else 0.0
        if self._since is None:
            if rate <= self._limit:
                return None
            self._since = self._rough = now
            self._arrivals, self._peak = arrivals, rate
            return FleetStorm(path=path, fleet=fleet, rate=rate, new=new, returned=returned, restarted=restarted)
        self._arrivals += arrivals
        self._peak = max(self._peak, rate)
        if rate >= self._limit / 2:
            self._rough = now
        if now - self._rough < CALM:
            return None
        lasted, self._since = self._rough - self._since, None
        return FleetCalm(path=path, fleet=fleet, arrivals=self._arrivals, peak=self._peak, seconds=lasted)
