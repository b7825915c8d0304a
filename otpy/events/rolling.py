"""A rolling restart: the children of a supervisor are started again one after the other."""

from __future__ import annotations

import logging

from otpy.core.seconds import in_seconds
from otpy.core.value import value
from otpy.events.event import Event

__all__ = ["RollBegun", "RollEnded", "RollStep", "RollStopped"]


@value(kw_only=True)
class RollBegun(Event):
    """The children of the supervisor at `path`, or the workers below it, are to be started again in turn."""

    children: int
    """How many."""
    max_unavailable: int
    """How many of them may be without service at a time."""
    reason: str
    """Who wanted it, in words."""

    @property
    def level(self) -> int:
        """As it was wanted."""
        return logging.INFO

    def __str__(self) -> str:
        one = "1 child is" if self.children == 1 else f"{self.children} children are"
        return f"{self.path}: {one} rolled, at most {self.max_unavailable} at a time: {self.reason}"


@value(kw_only=True)
class RollStep(Event):
    """One of them, at `path`, has come a step further."""

    roll: str
    """The path that is rolled."""
    step: str
    """`drained`: its process has nothing more to do, and is stopped; `started` again; `healthy`: it has been well for a
    while; `start failed`; or `left out`: it had ended by itself, for good."""
    seconds: float
    """How long the step took."""
    detail: str = ""
    """What its drain has left undone, or why it did not start."""

    @property
    def level(self) -> int:
        """A warning when something went wrong."""
        return logging.WARNING if self.detail else logging.INFO

    def __str__(self) -> str:
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.path}: {self.step} after {in_seconds(self.seconds)}{detail}"


@value(kw_only=True)
class RollEnded(Event):
    """All children were started again, and are healthy."""

    children: int
    """How many were."""
    seconds: float
    """How long all of it took."""

    @property
    def level(self) -> int:
        """As it was wanted."""
        return logging.INFO

    def __str__(self) -> str:
        return f"{self.path}: rolled, {self.children} started again within {in_seconds(self.seconds)}"


@value(kw_only=True)
class RollStopped(Event):
    """A roll was stopped before its end: the children that it has not come to run on as they were."""

    why: str
    """The first bad replacement, or what else has stopped it."""
    done: int
    """Children that were started again, and are healthy."""
    left: int
    """Children that it has not come to."""

    def __str__(self) -> str:
        return f"{self.path}: the roll was stopped, {self.done} are done and {self.left} as they were: {self.why}"
