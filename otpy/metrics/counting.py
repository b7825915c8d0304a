"""What is counted of events, as they happen; in the threads in which they do, so briefly."""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING

from otpy.events.crash import ActorCrashed
from otpy.events.jobs import StoreFailed
from otpy.events.leading import LeaderElected, LeaderLost, LeaderResigned
from otpy.events.messages import DeadLetter, UnknownMessage
from otpy.events.names import NameHeld, NameLost, NameResigned
from otpy.events.processes import ProcessSilent
from otpy.events.resilience import BreakerChanged
from otpy.events.supervision import ChildGivenUp, ChildStarted, ChildStartFailed, RestartLimitReached
from otpy.events.threads import LoopBlocked, ZombieMade
from otpy.jobs.model.lead import SHARED

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.events.event import Event
    from otpy.metrics.reading import Bound, Sheet
    from otpy.runtime.system import System

__all__ = ["Counting"]

PLAIN: dict[type[Event], str] = {
    ChildGivenUp: "otpy_children_given_up_total",
    ChildStartFailed: "otpy_start_failures_total",
    DeadLetter: "otpy_dead_letters_total",
    LoopBlocked: "otpy_loop_blocked_total",
    ProcessSilent: "otpy_process_silent_total",
    RestartLimitReached: "otpy_restart_limits_total",
    UnknownMessage: "otpy_unknown_messages_total",
    ZombieMade: "otpy_zombies_made_total",
}
"""Events of which each counts as one, whomever it is about: a path is no label."""


class Counting:
    """Counts from when it is made until `close`."""

    def __init__(self, system: System, bound: Bound) -> None:
        """Begin, within this bound."""
        self._bound = bound
        # Guards all numbers, for events happen in any thread. RLock: a signal handler, or a `__del__`, may make one.
        self._lock = RLock()
        self._numbers: dict[str, dict[tuple[str, ...], float]] = {name: {(): 0.0} for name in PLAIN.values()}
        for name in ("otpy_restarts_total", "otpy_push_failures_total", "otpy_push_left_out_total"):
            self._numbers[name] = {(): 0.0}
        attach = system.events.attach
        self._detach: list[Callable[[], None]] = [
            attach(self._plain, *PLAIN, brief=True),
            attach(self._started, ChildStarted, brief=True),
            attach(self._crashed, ActorCrashed, brief=True),
            attach(self._breaker, BreakerChanged, brief=True),
            *(attach(self._leading, kind, brief=True) for kind in (LeaderElected, LeaderLost, LeaderResigned)),
            attach(self._holding, NameHeld, brief=True),
            attach(self._holding, NameLost, brief=True),
            attach(self._holding, NameResigned, brief=True),
            attach(self._store, StoreFailed, brief=True),
        ]

    def count(self, name: str, *labels: str, by: float = 1.0) -> None:
        """So many more of a metric; any thread."""
        with self._lock:
            values = self._numbers.setdefault(name, {})
            key = self._bound.key(name, labels)
            values[key] = values.get(key, 0.0) + by

    def read(self, sheet: Sheet) -> None:
        """As they are now."""
        with self._lock:
            numbers = {name: values.copy() for name, values in self._numbers.items()}
        for name, values in numbers.items():
            sheet.set_all(name, values)

    def close(self) -> None:
        """Count nothing more."""
        for detach in self._detach:
            detach()

    def _plain(self, event: Event) -> None:
        self.count(PLAIN[type(event)])

    def _started(self, event: ChildStarted) -> None:
        if event.restarts:
            self.count("otpy_restarts_total")

    def _crashed(self, event: ActorCrashed) -> None:
        self.count("otpy_crashes_total", event.kind.partition(" ")[0])  # one of otpy's own goes on with how it stands

    def _breaker(self, event: BreakerChanged) -> None:
        self.count("otpy_breaker_transitions_total", event.breaker, event.after)

    def _leading(self, event: Event) -> None:
        self.count("otpy_leader_transitions_total", _engine(event))

    def _holding(self, event: NameHeld | NameLost | NameResigned) -> None:
        self.count("otpy_leader_transitions_total", f"{SHARED}{event.name}")

    def _store(self, event: StoreFailed) -> None:
        self.count("otpy_store_failures_total", _engine(event))


def _engine(event: Event) -> str:
    """The engine of one of its own actors: its id is its name, and they stand right below it."""
    return event.path.rpartition("/")[0].rpartition("/")[2]
