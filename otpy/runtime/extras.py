"""What only some actors have, kept apart so that an idle one stays small."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    from otpy.core.reason import Reason, RestartLimit
    from otpy.runtime.caller import Caller
    from otpy.runtime.crew import Crew
    from otpy.runtime.links import Monitor
    from otpy.runtime.ref import Ref
    from otpy.runtime.timers import Timer

__all__ = ["AsyncResource", "Extras", "limit_above", "nobody", "resource_word", "take_starter"]


class AsyncResource:
    """An async context manager that was entered."""

    __slots__ = ("manager",)

    def __init__(self, manager: AbstractAsyncContextManager[Any]) -> None:
        """It was."""
        self.manager = manager


def resource_word(resource: AbstractContextManager[Any] | AsyncResource) -> str:
    """What is shown of a resource: its class."""
    return type(resource.manager if isinstance(resource, AsyncResource) else resource).__name__


class Extras:
    """The rare part of a control block; made on first need.

    `lane` and `starter` are used by any thread, each step one operation; the rest by the actor's own turns, or by its
    death. Tables are made on first use: a system that stops a million actors makes a million of these.
    """

    __slots__ = (
        "_deferred",
        "_lane",
        "_spawned",
        "_timers",
        "_watches",
        "alarms",
        "birth",
        "crew",
        "gave_up",
        "idle_timer",
        "on_left",
        "orphans",
        "pending",
        "resources",
        "resumer",
        "sender",
        "starter",
        "stopping",
        "suspended",
        "suspended_at",
    )

    def __init__(self) -> None:
        """Nothing yet."""
        self._lane: deque[Callable[[Ref[Any]], object]] | None = None
        self._deferred: dict[Caller, None] | None = None
        self._timers: set[Timer] | None = None
        self._watches: set[Monitor] | None = None
        self._spawned: dict[str, Ref[Any]] | None = None
        self.birth: Callable[[Ref[Any]], object] | None = None
        """What its first turn does before all else: `init`. No lane is made for it, which costs as much as an actor."""
        self.pending: Reason | None = None
        """An exit signal that has arrived and not yet ended it."""
        self.sender: Ref[Any] | None = None
        """Whose exit signal that was."""
        self.suspended = False
        """Whether it handles nothing but the lane."""
        self.suspended_at = 0.0
        """Since when, on the system's clock."""
        self.resumer: Timer | None = None
        """What resumes it by itself."""
        self.stopping = False
        """Whether it is in `terminate`, or stops its children."""
        self.idle_timer: Timer | None = None
        """The timeout that the next message cancels."""
        self.resources: list[AbstractContextManager[Any] | AsyncResource] | None = None
        """What it entered through `self.use` and `self.ause`, in order."""
        self.crew: Crew | None = None
        """Its handlers in flight, for a class that wants several at once."""
        self.starter: list[Callable[[object], object]] | None = None
        """Told when `init` is done or has failed; who pops it tells."""
        self.on_left: Callable[[], object] | None = None
        """Told when nothing of it is left: no code runs, and what it held is closed. Any thread may put one here."""
        self.orphans: list[Ref[Any]] | None = None
        """What it had started and was linked to when it died, and what therefore is to end, too."""
        self.gave_up: RestartLimit | None = None
        """Why this supervisor stops its children and ends: who asks one of them in the meantime is told."""
        self.alarms = 0
        """How many of the mailbox's growth alarms were given."""

    @property
    def lane(self) -> deque[Callable[[Ref[Any]], object]]:
        """What the next turn does before any message; made under the system's lock, by `poke` or `begin`."""
        return self._lane if self._lane is not None else _NO_LANE

    def add_to_lane(self, item: Callable[[Ref[Any]], object]) -> None:
        """Have the next turn do something first; the first one is added with the system's lock held."""
        if self._lane is None:
            self._lane = deque()
        self._lane.append(item)

    @property
    def has_lane(self) -> bool:
        """Whether adding to the lane needs no lock."""
        return self._lane is not None

    @property
    def deferred(self) -> dict[Caller, None]:
        """Callers it will answer later, in order: a death tells them so."""
        if self._deferred is None:
            self._deferred = {}
        return self._deferred

    @property
    def has_deferred(self) -> bool:
        """Whether anybody waits for a later answer; looked at without making the table."""
        return bool(self._deferred) or (self.crew is not None and bool(self.crew.nodes))

    @property
    def timers(self) -> set[Timer]:
        """Timers that die with it."""
        if self._timers is None:
            self._timers = set()
        return self._timers

    @property
    def timer_count(self) -> int:
        """How many those are; looked at without making the table."""
        return len(self._timers or ())

    @property
    def watches(self) -> set[Monitor]:
        """The monitors it holds on others."""
        if self._watches is None:
            self._watches = set()
        return self._watches

    @property
    def spawned(self) -> dict[str, Ref[Any]]:
        """Actors it started itself, outside of any supervisor."""
        if self._spawned is None:
            self._spawned = {}
        return self._spawned

    @property
    def has_spawned(self) -> bool:
        """Whether it started others itself; looked at without making the table."""
        return bool(self._spawned)

    def is_held(self) -> bool:
        """Whether no message is begun: it is suspended, or has as many in flight as it may."""
        return self.suspended or (self.crew is not None and self.crew.is_full)

    def tables(self) -> tuple[list[Timer], list[Monitor], list[Caller]]:
        """What a death has to end: timers, watches, waiting callers."""
        callers = list(self._deferred or ()) + (self.crew.callers() if self.crew is not None else [])
        return list(self._timers or ()), list(self._watches or ()), callers


_NO_LANE: deque[Callable[[Ref[Any]], object]] = deque(maxlen=0)


def limit_above(ref: Ref[Any]) -> RestartLimit | None:
    """Why the nearest supervisor above an actor gave up, if one did: that ends it, too."""
    above = ref.parent
    while above is not None:
        if above.more is not None and above.more.gave_up is not None:
            return above.more.gave_up
        above = above.parent
    return None


def take_starter(ref: Ref[Any]) -> Callable[[object], object]:
    """Whom to tell of the start; for one call only."""
    starter = ref.more.starter if ref.more is not None else None
    if not starter or ref.more is None:
        return nobody
    try:
        return starter.pop()  # one pop: the deadline may come at the same time
    except IndexError:
        return nobody
    finally:
        ref.more.starter = None


def nobody(_: object) -> None:
    """Nobody waits for this start."""
