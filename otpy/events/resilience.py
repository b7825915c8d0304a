"""What protects a program from the services it calls."""

from __future__ import annotations

import logging

from otpy.core.value import value
from otpy.events.event import Event

__all__ = ["BreakerChanged", "OutboxDegraded", "OutboxDropped", "OutboxRecovered", "OutboxSetAside"]


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


@value(kw_only=True)
class OutboxDropped(Event):
    """An outbox has dropped rows, which nobody will get. Many in a short time are told together."""

    outbox: str
    """Its name."""
    topic: str
    """Whose rows they were."""
    why: str
    """`age`: too old; `new`, `oldest`, `sample`: there was no room; `refused` by the receiver; `damaged`."""
    rows: int
    """How many."""
    size_bytes: int
    """What their payloads had together."""

    def __str__(self) -> str:
        return f"{self.path}: outbox {self.outbox!r} dropped {self.rows} rows of {self.topic!r} ({self.why})"


@value(kw_only=True)
class OutboxDegraded(Event):
    """An outbox's first sender does not deliver: the rows wait, or another one delivers them."""

    outbox: str
    """Its name."""
    sender: str
    """The first sender's."""
    why: str
    """What it raised last, or that its breaker is open."""
    instead: str | None
    """Who delivers; None: nobody."""

    def __str__(self) -> str:
        then = "its rows wait" if self.instead is None else f"{self.instead!r} delivers"
        return f"{self.path}: outbox {self.outbox!r}: {self.sender!r} does not deliver ({self.why}); {then}"


@value(kw_only=True)
class OutboxRecovered(Event):
    """An outbox's first sender delivers again."""

    outbox: str
    """Its name."""
    sender: str
    """The first sender's."""
    seconds: float
    """How long it did not."""
    rows: int
    """Rows that wait now."""

    @property
    def level(self) -> int:
        """All is well again."""
        return logging.INFO

    def __str__(self) -> str:
        well = f"{self.sender!r} delivers again after {self.seconds:.3g} s; {self.rows} rows wait"
        return f"{self.path}: outbox {self.outbox!r}: {well}"


@value(kw_only=True)
class OutboxSetAside(Event):
    """An outbox's file was damaged: it was moved out of the way, and a new one is begun."""

    outbox: str
    """Its name."""
    aside: str
    """What the damaged file is called now; what was in it has not been sent."""
    problem: str
    """What is wrong with it."""

    @property
    def level(self) -> int:
        """Rows may be lost."""
        return logging.ERROR

    def __str__(self) -> str:
        return (
            f"{self.path}: outbox {self.outbox!r}: its file is now {self.aside}, and a new one begun ({self.problem})"
        )
