"""Systems for tests: on virtual time, and, for explorations, in the order of a seed."""

from __future__ import annotations

import asyncio
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import otpy.actors.adopted
import otpy.actors.function
import otpy.places  # noqa: F401 - they register themselves, as for `otpy.run`
from otpy.events.hook import Events
from otpy.runtime.home import PLACES
from otpy.runtime.records import kept_by
from otpy.runtime.system import System
from otpy.state.store import open_states
from otpy.testing.clock import VirtualClock
from otpy.testing.loop_home import SeededLoopHome
from otpy.testing.trace import what_it_waits_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from otpy.events.event import Event
    from otpy.runtime.home import Home
    from otpy.runtime.ref import Ref
    from otpy.runtime.timers import Timer
    from otpy.state.plan import StateFile
    from otpy.testing.pool import SeededPool

__all__ = ["SeededSystem", "VirtualSystem"]


OUTLIVING = ("_kill_all",)
"""Timers of otpy's own that may outlive all actors: shutdown times of a supervisor that was killed meanwhile."""


class VirtualSystem(System):
    """A system whose time moves when told: `system.clock.advance(seconds)`."""

    clock: VirtualClock

    def __init__(self, name: str = "virtual", *, state: StateFile | Path | str | None = None, **options: Any) -> None:
        """Make one, with the options of `System`; its clock is a new VirtualClock unless one is given.

        Its actors find what they have persisted in the file of `state`, as in `otpy.run`: one system after the other
        plays the restarts of a program. Raises StateFileError when the file cannot be used.
        """
        clock = options.pop("clock", None) or VirtualClock()
        super().__init__(name, clock=clock, **options)
        if state is not None:
            open_states(self, state)


class SeededSystem(VirtualSystem):
    """A system whose pool follows a seed; it remembers its dead, and may keep its events from the log."""

    pool: SeededPool

    def __init__(self, pool: SeededPool, seed: int, *, is_quiet: bool) -> None:
        """Begin with nothing; a quiet one logs no events, for a thousand runs would crash actors a thousand times."""
        super().__init__("seeded", seed=seed, pool=pool)
        self.places = PLACES | {"loop": _loop_home, "thread": _pool}
        self.is_quiet = is_quiet
        if is_quiet:
            self.events = _QuietEvents()
        self.dead: list[Ref[Any]] = []
        """All actors that have ended, in order."""
        self.loop_home: SeededLoopHome | None = None
        self.late_timers: list[str] = []
        """The timers that were set when the system closed, which drops them."""

    def forget(self, ref: Ref[Any]) -> None:
        """Keep an actor that ends, so that what it leaves behind is seen."""
        self.dead.append(ref)
        super().forget(ref)

    def living(self) -> list[Ref[Any]]:
        """All actors that live, parents before their children."""
        found: dict[Ref[Any], None] = {}
        left = [self.root, *self.tops.values(), *self.orphans]
        for ref in left:  # which grows meanwhile
            if ref is not None and ref.reason is None and ref not in found:
                found[ref] = None
                left += kept_by(ref)
        return list(found)

    def suspended(self) -> Iterator[str]:
        """Whose handlers await something on the event loop, as sentences."""
        if self.loop_home is not None:
            waiting = [worker.ref for worker in self.loop_home.suspended if worker.ref is not None]
            for ref in sorted(waiting, key=attrgetter("number")):
                yield f"{ref.path} waits{what_it_waits_for(ref)}"

    def left_tasks(self) -> list[str]:
        """The tasks that somebody has made and that have not ended, as sentences."""
        return [] if self.loop_home is None else [_describe(task) for task in self.loop_home.left()]

    def cancel_tasks(self) -> None:
        """Cancel all tasks on the event loop."""
        if self.loop_home is not None:
            self.loop_home.cancel_all()

    def end_loop(self) -> None:
        """Drop the event loop, when the run is over."""
        if self.loop_home is not None:
            self.loop_home.end()

    def close(self) -> None:
        """Note what timers there are, then close."""
        set_now = ((_name(timer), timer.due) for timer in self.timers.pending())
        self.late_timers.extend(f"{name} at {due:.3f}" for name, due in set_now if name not in OUTLIVING)
        super().close()


def _name(timer: Timer) -> str:
    first = timer.args[0] if timer.args else None
    action: Any = first._callback if isinstance(first, asyncio.TimerHandle) else timer.action  # type: ignore[attr-defined]  # noqa: SLF001
    return str(getattr(action, "__qualname__", action))


def _describe(task: asyncio.Task[Any]) -> str:
    owner: Ref[Any] | None = getattr(task, "owner", None)
    where = "" if owner is None else f" of {owner.path}"
    return f"{task.get_name()}{where}, {getattr(task.get_coro(), '__qualname__', 'a task')}, has not ended"


def _loop_home(system: Any, _: Ref[Any], __: str | None) -> Home:  # Any: a SeededSystem
    if system.loop_home is None:
        system.loop_home = SeededLoopHome(system)
    home: Home = system.loop_home
    return home


def _pool(system: System, _: Ref[Any], __: str | None) -> Home:
    return system.pool


class _QuietEvents(Events):
    """Events that reach handlers, and no log."""

    def wants(self, kind: type[Event], level: int) -> bool:  # noqa: ARG002 - the log is not asked
        return bool(self._all) or kind in self._some

    def _write(self, event: Event) -> None:
        """Write nothing."""
