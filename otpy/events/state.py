"""What actors persist, over restarts of the program."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from otpy.core.value import value
from otpy.events.event import Event

__all__ = ["StateFileSetAside", "StateRestored", "StateSetAside"]


@value(kw_only=True)
class StateFileSetAside(Event):
    """The file of states was damaged and is out of the way; all begin without state."""

    file: str
    """Where it was."""
    aside: str
    """Where it is now."""
    problem: str
    """What is wrong with it."""

    @property
    def level(self) -> int:
        """Something is lost, unless it can be read out of the file."""
        return logging.ERROR

    def __str__(self) -> str:
        return f"{self.path}: {self.file} is set aside as {self.aside}, and all begin without state: {self.problem}"


@value(kw_only=True)
class StateRestored(Event):
    """An actor begins with what an earlier incarnation has persisted."""

    saved_at: float
    """When that was, in seconds since 1970."""
    is_fresh: bool
    """Whether nothing has run at this path since."""

    @property
    def level(self) -> int:
        """As it should be."""
        return logging.INFO

    def __str__(self) -> str:
        since = "" if self.is_fresh else ", and something has run since"
        return f"{self.path}: begins with its state of {_time(self.saved_at)}{since}"


@value(kw_only=True)
class StateSetAside(Event):
    """An actor's starts have failed with a persisted state: it begins without, and the file keeps the state."""

    saved_at: float
    """When the state was written, in seconds since 1970."""
    tries: int
    """How many starts have failed with it."""

    @property
    def level(self) -> int:
        """Something is lost, unless somebody mends it."""
        return logging.ERROR

    def __str__(self) -> str:
        failed = f"{self.tries} starts have failed with its state of {_time(self.saved_at)}"
        return f"{self.path}: {failed}: it is set aside, and the actor begins without"


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
