"""What protects a program from the services it calls."""

from __future__ import annotations

import logging

from otpy.core.value import value
from otpy.events.event import Event

__all__ = ["BreakerChanged"]


@value(kw_only=True)
class BreakerChanged(Event):
    """A circuit breaker went from one state to another: closed, open, half_open, forced_open, forced_closed."""

    breaker: str
    """Its name."""
    before: str
    """The state it was in."""
    after: str
    """The state it is in."""
    why: str
    """What led to it, in words."""
    retry_after: float | None
    """Seconds until it lets probes through; None unless it has just opened."""

    @property
    def level(self) -> int:
        """A warning when calls are refused from now on."""
        return logging.WARNING if self.after in {"open", "forced_open"} else logging.INFO

    def __str__(self) -> str:
        then = "" if self.retry_after is None else f"; next probe in {self.retry_after:.3g} s"
        return f"{self.path}: breaker {self.breaker!r} went from {self.before} to {self.after}: {self.why}{then}"
