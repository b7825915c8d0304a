"""What is remembered of an exit: plain data that answers why something ended, and what became of it."""

from __future__ import annotations

from otpy.core.value import value

__all__ = ["ExitAction", "ExitRecord", "relation"]


@value(kw_only=True)
class ExitAction:
    """One thing a supervisor did about an exit."""

    what: str
    """`stopped others`, `restart`, `attempt` at one that failed, `restart failed`, `start failed` when it was done by
    hand, `waits`, `moved` into a process as it was stuck, `gave up`, `ended itself`, `kept` or `forgot`."""
    ago: float
    """Seconds before the record was made."""
    restart: int = 0
    """Which restart of this child it was, or would have been, since its supervisor started; 0 where it was none."""
    in_window: int = 0
    """How many restarts the supervisor counted within `max_seconds`, this one included."""
    max_restarts: int = 0
    """How many it bears."""
    max_seconds: float = 0.0
    """Within which time, in seconds."""
    others: tuple[str, ...] = ()
    """Paths of siblings that were stopped with it, the last started first; at most 20."""
    others_left_out: int = 0
    """How many more there were."""
    detail: str | None = None
    """What there is to add: the strategy that took others along, the reason of a failed restart, the time of a wait,
    the place it was moved to, the kind of auto_shutdown; `child` where a child alone was given up."""


@value(kw_only=True)
class ExitRecord:
    """One exit. Times are the system's own clock's; all text is bounded and safe to show."""

    path: str
    """Who ended."""
    relation: str
    """To the path that was asked for: `own`, `above`, `below`, or `beside`, which took it along."""
    kind: str
    """Its class or function."""
    number: int
    """Which incarnation it was, counted over all actors that its system has started."""
    time: float
    """When, in wall clock seconds; on a virtual clock that clock's own time."""
    ago: float
    """Seconds before the record was made."""
    uptime: float | None
    """Seconds from its start to its end; None when its system does not know, as of one inside of a process."""
    reason: str
    """Why."""
    causes: tuple[str, ...] = ()
    """The exceptions that led to the one in `reason`, the nearest first."""
    frame: str | None = None
    """Where the exception was raised: the innermost line of the user's own code."""
    message: str | None = None
    """What it was handling; arguments of calls and casts are not kept."""
    queue: int = 0
    """How many messages were still waiting."""
    by: str | None = None
    """Who killed it or sent it the exit signal: an actor's path or a thread's name."""
    origin: tuple[str, ...] = ()
    """The exits that brought this one about, the nearest first, each as `path: reason`; the last is the root cause."""
    took: tuple[str, ...] = ()
    """Paths of linked actors and children that ended by it; at most 20."""
    took_left_out: int = 0
    """How many more there were."""
    waiting: tuple[str, ...] = ()
    """Who waited for a reply that never came, as `path in call get`; a thread outside of all actors by its name."""
    waiting_left_out: int = 0
    """How many more there were, among the first 100 waiting messages."""
    actions: tuple[ExitAction, ...] = ()
    """What its supervisor did, in order."""


def relation(path: str, ended: str) -> str | None:
    """How the path of somebody who ended stands to a path; None when neither is above the other."""
    if ended == path:
        return "own"
    if ended.startswith(path + "/"):
        return "below"
    return "above" if path.startswith(ended + "/") else None
