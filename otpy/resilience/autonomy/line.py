"""How an agent stands to its hub: a machine without a thread or a clock, changed under the lock of its handle."""

from __future__ import annotations

from collections import deque
from dataclasses import field
from typing import Literal

from otpy.core.value import value

__all__ = ["STARTED", "AutonomyLook", "AutonomyState", "Change", "Line"]

AutonomyState = Literal["normal", "degraded", "catching_up"]
STARTED = "its first connection"
"""Why it is degraded before it was ever connected, or has failed to be."""


@value(kw_only=True)
class AutonomyLook:
    """How an agent stands: `autonomy.look()`."""

    state: AutonomyState
    """`normal`; `degraded`: it goes on alone, or something else holds it so; `catching_up`: the hub is back, and what
    was missed is being made good."""
    degraded: float | None
    """For how many seconds it has not been normal; None while it is."""
    why: str | None
    """What the matter is."""
    attempts: int
    """Attempts to reach the hub that have failed since it was lost."""
    held: dict[str, str] = field(default_factory=dict)
    """What else keeps it degraded, and why."""


@value
class Change:
    """It went from one state to another."""

    before: AutonomyState
    after: AutonomyState
    why: str
    seconds: float
    """How long it had not been normal."""


class Line:
    """What `hub` says of the connection alone: `up`, `down`, or `catching_up`."""

    def __init__(self) -> None:
        """There has not been any yet."""
        self.hub: Literal["up", "down", "catching_up"] = "down"
        self.phase = 0
        """Grows with each change of the connection: a word about an earlier one is of no interest."""
        self.why: str | None = STARTED
        self.since: float | None = None
        """When it was last normal."""
        self.attempts = 0
        self.held: dict[str, str] = {}
        self.changes: deque[Change] = deque()
        """What has not been told yet."""
        self._told: AutonomyState = "degraded"

    @property
    def state(self) -> AutonomyState:
        """All in all."""
        if self.hub == "up" and not self.held:
            return "normal"
        return "catching_up" if self.hub == "catching_up" else "degraded"

    def begin(self, now: float) -> None:
        """Somebody keeps it: what was under way is not any more."""
        if self.hub == "catching_up":
            self.hub, self.phase = "down", self.phase + 1
        if self.since is None and self.state != "normal":
            self.since = now

    def lose(self, phase: int, why: str, now: float) -> bool:
        """The hub is lost; False when that is no news."""
        if phase != self.phase or self.hub == "down":
            return False
        self.hub, self.phase, self.why, self.attempts = "down", self.phase + 1, why, 0
        self._note(why, now)
        return True

    def fail(self, phase: int, why: str, now: float) -> None:
        """An attempt to come back has failed."""
        if phase != self.phase:
            return
        self.hub, self.phase, self.why = "down", self.phase + 1, why
        self.attempts += 1
        self._note(why, now)

    def connect(self, phase: int, now: float) -> bool:
        """The hub is there again; False when that is no longer true."""
        if phase != self.phase or self.hub != "down":
            return False
        self.hub, self.phase = "catching_up", self.phase + 1
        self._note("it has reached its hub", now)
        return True

    def catch_up(self, phase: int, now: float) -> bool:
        """Nothing is missed any more; False when the hub was lost meanwhile."""
        if phase != self.phase or self.hub != "catching_up":
            return False
        self.hub, self.phase, self.why, self.attempts = "up", self.phase + 1, None, 0
        self._note("it has caught up", now)
        return True

    def hold(self, part: str, why: str, now: float) -> bool:
        """Something else keeps it degraded; False when that is known."""
        is_new = part not in self.held
        self.held = {**self.held, part: why}
        if is_new:
            self._note(f"{part}: {why}", now)
        return is_new

    def release(self, part: str, now: float) -> bool:
        """That is over; False when it was."""
        if part not in self.held:
            return False
        self.held = {name: why for name, why in self.held.items() if name != part}
        self._note(f"{part} is well", now)
        return True

    def whys(self) -> str | None:
        """All that is the matter."""
        own = [] if self.hub == "up" or self.why is None else [self.why]
        return "; ".join(own + [f"{part}: {why}" for part, why in self.held.items()]) or None

    def _note(self, why: str, now: float) -> None:
        after = self.state
        if self.since is None and after != "normal":
            self.since = now
        seconds = 0.0 if self.since is None else now - self.since
        if after != self._told:
            self.changes.append(Change(self._told, after, why, seconds))
            self._told = after
        if after == "normal":
            self.since = None
