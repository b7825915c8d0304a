"""What protects a program from the services it calls."""

from __future__ import annotations

import logging

from otpy.core.seconds import in_seconds
from otpy.core.value import value
from otpy.events.event import Event

__all__ = [
    "AutonomyChanged",
    "BreakerChanged",
    "ConfigurationApplied",
    "ConfigurationDegraded",
    "ConfigurationFailed",
    "ConfigurationProved",
    "ConfigurationRecovered",
    "ConfigurationRefused",
    "ConfigurationSetAside",
    "OutboxDegraded",
    "OutboxDropped",
    "OutboxRecovered",
    "OutboxSetAside",
]


@value(kw_only=True)
class AutonomyChanged(Event):
    """An agent goes on without its hub, or comes back to it: normal, degraded, catching_up."""

    autonomy: str
    """Its name."""
    before: str
    """The state it was in."""
    after: str
    """The state it is in."""
    why: str
    """What led to it, in words."""
    seconds: float
    """How long it has been without; 0 when that has just begun."""

    @property
    def level(self) -> int:
        """A warning when it has to go on alone."""
        return logging.WARNING if self.after == "degraded" else logging.INFO

    def __str__(self) -> str:
        went = f"autonomy {self.autonomy!r} went from {self.before} to {self.after}"
        return f"{self.path}: {went} after {in_seconds(self.seconds)}: {self.why}"


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
    error: str | None = None
    """What the call raised whose failure was one too many; None where it was no error."""
    status: int | None = None
    """The status that the service has answered with, where the error has one, as 503."""
    attempts: int | None = None
    """How often that call was made by then: 1 unless a `retry` has made it."""

    @property
    def level(self) -> int:
        """A warning when calls are refused from now on; a probe that has failed is no news."""
        is_news = self.before != "half_open" and self.after in {"open", "forced_open"}
        return logging.WARNING if is_news else logging.INFO

    def __str__(self) -> str:
        then = "" if self.retry_after is None else f"; next probe in {in_seconds(self.retry_after)}"
        went = f"breaker {self.breaker!r} went from {self.before} to {self.after}: {self.why}{self._last()}{then}"
        return f"{self.path}: {went}"

    def _last(self) -> str:
        """The failure that was one too many, in words."""
        if self.error is None or self.after != "open":
            return ""
        retries = (self.attempts or 1) - 1
        facts = [
            self.error,
            "" if self.status is None else f"status {self.status}",
            "" if not retries else f"after {retries} {'retry' if retries == 1 else 'retries'}",
        ]
        return f" ({'; '.join(filter(None, facts))})"


@value(kw_only=True)
class ConfigurationApplied(Event):
    """A configuration is the current one from now on."""

    configuration: str
    """Its name."""
    version: int
    """Which."""
    before: int | None
    """The one that was; None: there was none."""
    why: str
    """Where it comes from: `start`, `fetched`, `default`, or `fell back`."""

    @property
    def level(self) -> int:
        """As it should be."""
        return logging.INFO

    def __str__(self) -> str:
        before = "" if self.before is None else f" after version {self.before}"
        return f"{self.path}: configuration {self.configuration!r}: version {self.version}{before} ({self.why})"


@value(kw_only=True)
class ConfigurationDegraded(Event):
    """The hub does not give the configuration, or it is too old; what the agent has stays in use."""

    configuration: str
    """Its name."""
    version: int | None
    """Which is in use."""
    why: str
    """What is the matter."""
    age: float | None
    """Seconds since the hub last said that this one is current; None: it never did."""

    def __str__(self) -> str:
        age = "" if self.age is None else f", {self.age:.0f} s old"
        return f"{self.path}: configuration {self.configuration!r} (version {self.version}{age}): {self.why}"


@value(kw_only=True)
class ConfigurationFailed(Event):
    """A version has failed after it was accepted, and is never applied again."""

    configuration: str
    """Its name."""
    version: int
    """Which."""
    instead: int | None
    """The one before, which is in use now; None: there is none."""
    why: str
    """How it failed."""

    @property
    def level(self) -> int:
        """Who has made it should know."""
        return logging.ERROR

    def __str__(self) -> str:
        then = "there is none to fall back to" if self.instead is None else f"back to version {self.instead}"
        return f"{self.path}: configuration {self.configuration!r}: version {self.version} failed ({self.why}); {then}"


@value(kw_only=True)
class ConfigurationProved(Event):
    """A version has been in use for long enough to be good: from now on it is what is fallen back to."""

    configuration: str
    """Its name."""
    version: int
    """Which."""

    @property
    def level(self) -> int:
        """As it should be."""
        return logging.INFO

    def __str__(self) -> str:
        return f"{self.path}: configuration {self.configuration!r}: version {self.version} is good"


@value(kw_only=True)
class ConfigurationRecovered(Event):
    """The hub gives the configuration again, and it is not too old."""

    configuration: str
    """Its name."""
    version: int | None
    """Which is in use."""
    seconds: float
    """How long it was degraded."""

    @property
    def level(self) -> int:
        """All is well again."""
        return logging.INFO

    def __str__(self) -> str:
        well = f"up to date again after {in_seconds(self.seconds)}"
        return f"{self.path}: configuration {self.configuration!r} (version {self.version}): {well}"


@value(kw_only=True)
class ConfigurationRefused(Event):
    """What the hub gave cannot be used, and was not. Told once, however often it gives the same."""

    configuration: str
    """Its name."""
    version: str
    """The version it claims, as text."""
    why: str
    """What is wrong with it."""

    def __str__(self) -> str:
        return f"{self.path}: configuration {self.configuration!r}: refused version {self.version}: {self.why}"


@value(kw_only=True)
class ConfigurationSetAside(Event):
    """A file of a configuration was damaged, and was moved out of the way."""

    configuration: str
    """Its name."""
    aside: str
    """What it is called now."""
    problem: str
    """What is wrong with it."""

    @property
    def level(self) -> int:
        """The disk may be failing."""
        return logging.ERROR

    def __str__(self) -> str:
        return f"{self.path}: configuration {self.configuration!r}: set aside as {self.aside}: {self.problem}"


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
        well = f"{self.sender!r} delivers again after {in_seconds(self.seconds)}; {self.rows} rows wait"
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
