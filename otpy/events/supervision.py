"""What supervisors do: starts and ends of their children, restarts that wait, and limits that were reached."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from otpy.core.reason import BadReturn, Crashed, Restart, told_restarts
from otpy.core.seconds import in_seconds
from otpy.core.value import value
from otpy.events.event import Event

if TYPE_CHECKING:
    from otpy.core.reason import Reason

__all__ = [
    "ChildGivenUp",
    "ChildMoved",
    "ChildStartFailed",
    "ChildStarted",
    "ChildTerminated",
    "ChildUnstopped",
    "RestartDelayed",
    "RestartLimitReached",
]


@value(kw_only=True)
class ChildStarted(Event):
    """A supervisor has started a child: its `init` is done. Not sent for an `Ignore`. OTP: the progress report."""

    restarts: int
    """0 at its first start."""

    @property
    def level(self) -> int:
        """Progress is of interest to few."""
        return logging.DEBUG

    def __str__(self) -> str:
        return f"{self.path} started" if not self.restarts else f"{self.path} started again (restart {self.restarts})"


@value(kw_only=True)
class ChildTerminated(Event):
    """A child ended by itself, and its supervisor acts on it. OTP: `child_terminated`."""

    reason: Reason
    """Why."""

    @property
    def level(self) -> int:
        """An error, unless the crash itself has been reported as one: two reports of one crash hide each other."""
        return logging.DEBUG if isinstance(self.reason, Crashed | BadReturn) else logging.ERROR

    def __str__(self) -> str:
        return f"{self.path} ended: {self.reason}"


@value(kw_only=True)
class ChildStartFailed(Event):
    """A child did not start, or not again; its `path` is the one it was to have. OTP: `start_error`."""

    reason: Reason
    """Why."""

    @property
    def level(self) -> int:
        """As for `ChildTerminated`: a crash of `init` has been reported in full."""
        return logging.DEBUG if isinstance(self.reason, Crashed | BadReturn) else logging.ERROR

    def __str__(self) -> str:
        return f"{self.path} did not start: {self.reason}"


@value(kw_only=True)
class ChildUnstopped(Event):
    """A child that was told to stop ended otherwise than it should. OTP: `shutdown_error`."""

    reason: Reason
    """How it ended; `killed` when it outlived its `shutdown` time."""

    @property
    def level(self) -> int:
        """An error."""
        return logging.ERROR

    def __str__(self) -> str:
        return f"{self.path} did not stop as asked: {self.reason}"


@value(kw_only=True)
class RestartLimitReached(Event):
    """The supervisor at `path` gives up: it stops its children and ends. OTP: `reached_max_restart_intensity`."""

    child: str
    """The id of the child whose restart was one too many."""
    max_restarts: int
    """How many it bears."""
    max_seconds: float
    """Within which time."""
    reason: Reason
    """Why the child ended."""
    restarts: tuple[Restart, ...] = ()
    """The restarts before it within that time, oldest first; the last 10."""

    @property
    def level(self) -> int:
        """An error."""
        return logging.ERROR

    def __str__(self) -> str:
        limit = f"{self.max_restarts} restarts in {self.max_seconds:g} s"
        last = f"child {self.child} ({self.reason}){told_restarts(self.restarts, self.max_restarts)}"
        return f"{self.path} gives up: reached the restart limit of {limit} with {last}"


@value(kw_only=True)
class RestartDelayed(Event):
    """A child with a back-off ended, or did not start again: its supervisor waits before the next attempt."""

    seconds: float
    """How long."""
    reason: Reason
    """Why the child ended, or did not start."""

    @property
    def level(self) -> int:
        """The failure itself has been reported."""
        return logging.INFO

    def __str__(self) -> str:
        return f"{self.path} is to be started again in {in_seconds(self.seconds)} ({self.reason})"


@value(kw_only=True)
class ChildMoved(Event):
    """The code of a killed child never came to its end: from now on it runs in another place, as its spec asks for."""

    place: str
    """Where."""

    def __str__(self) -> str:
        return f"{self.path} was killed but still runs: from now on it is started in a {self.place}"


@value(kw_only=True)
class ChildGivenUp(Event):
    """A child passed the limit of its own and stays without a process until somebody starts it; its siblings go on."""

    max_restarts: int
    """How many restarts it was allowed."""
    max_seconds: float
    """Within which time."""
    reason: Reason
    """Why it ended last."""

    @property
    def level(self) -> int:
        """An error."""
        return logging.ERROR

    def __str__(self) -> str:
        limit = f"{self.max_restarts} restarts in {self.max_seconds:g} s"
        return f"{self.path} is given up: it reached its own limit of {limit} ({self.reason}); otpy restart starts it"
