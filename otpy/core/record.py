"""What the inspector publishes of an actor: plain data, safe to send anywhere."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ActorRecord"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorRecord:
    """One actor, or one child without a process, as it was when the record was made."""

    path: str
    """Ids joined by `/`, as `shop/feed/17`."""
    id: str
    """The last part of the path."""
    kind: str
    """The class or function it runs."""
    type: str
    """`worker` or `supervisor`."""
    status: str
    """`starting`, `idle`, `running`, `suspended`, `stopping`, `zombie`, `restarting`,
    `stopped` or `failed`: given up by a limit of its own."""
    place: str
    """`pool` or `thread`."""
    number: int
    """The incarnation, unique in its system; 0 when there is no process."""
    name: str | None
    """The registered name."""
    uptime: float
    """Seconds since this incarnation started."""
    restarts: int
    """How often its supervisor has started it again."""
    queue: int
    """Messages waiting."""
    busy: float | None
    """Seconds in the current message, in steps of the watchdog's 10 ms; None when idle."""
    current: str | None
    """The current message, as `cast put`, `call get`, `info`, `init`."""
    thread: str | None
    """The OS thread that runs it now."""
    strategy: str | None
    """A supervisor's strategy."""
    children: int
    """How many children a supervisor has."""
    trap_exit: bool
    """Whether exit signals reach it as messages."""
    links: tuple[str, ...]
    """Paths of linked actors."""
    monitors: int
    """How many watch it."""
    resources: tuple[str, ...]
    """What it holds through `self.use`."""
    last_exit: str | None
    """Why the previous incarnation ended."""
    next_start: float | None = None
    """Seconds until its supervisor makes the next attempt to start it; None unless it has a back-off and waits."""
