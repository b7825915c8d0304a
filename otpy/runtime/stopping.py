"""Stopping a whole system within one total time, and telling what did not stop."""

from __future__ import annotations

import time
from contextlib import suppress
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from otpy.core.text import place_line
from otpy.core.value import value
from otpy.errors import CallExitError
from otpy.runtime.crew import in_hand
from otpy.runtime.death import LAST_BREATH, kill
from otpy.runtime.links import drop_link
from otpy.runtime.records import kept_by
from otpy.runtime.stacks import frame_line, seat_of
from otpy.runtime.wait_idle import wait_idle

if TYPE_CHECKING:
    from otpy.core.reason import Reason
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["Unstopped", "describe_late", "kill_all", "stop_all"]


@value
class Unstopped:
    """An actor that was told to stop and did not in time."""

    path: str
    """Its path."""
    thread: str | None
    """The OS thread that runs its code."""
    frame: str | None
    """Where that code is."""

    def __str__(self) -> str:
        return f"{self.path} did not stop: it is {place_line(self.thread, self.frame)}"


def stop_all(system: System, reason: Reason, timeout: float) -> list[Unstopped]:
    """See `System.stop`."""
    now = system.clock.now if system.pool.is_seeded else time.monotonic
    deadline = now() + timeout
    late: list[Ref[Any]] = []
    while refs := [ref for ref in _tops(system) if ref not in late]:
        late += [ref for ref in refs if not _stop_one(ref, reason, max(0.0, deadline - now()))]
        with system.lock:
            system.stopped = True  # nothing can be started any more; another look finds what had cut its links
    with system.lock:
        system.stopped = True
    left = [unstopped for ref in late for unstopped in _kill_below(system, ref)]
    if system.undead:
        with suppress(TimeoutError):
            wait_idle(system, LAST_BREATH)  # who was only just thrown out of its code is about to leave it
    known = {unstopped.path for unstopped in left}
    return left + [describe_late(system, zombie) for zombie in list(system.undead) if zombie.path not in known]


def kill_all(system: System, top: Ref[Any] | None) -> list[Unstopped]:
    """Kill an actor and all below it, with None all of a system; tells who still ran. A stop that waits goes on."""
    return [late for ref in ([top] if top is not None else _tops(system)) for late in _kill_below(system, ref)]


def _tops(system: System) -> list[Ref[Any]]:
    """What has no supervisor, the last started first; then the root."""
    others = sorted([*system.tops.values(), *system.orphans], key=attrgetter("number"), reverse=True)
    root = [system.root] if system.root is not None and system.root.reason is None else []
    return [*(ref for ref in others if ref is not system.root), *root]


def _stop_one(ref: Ref[Any], reason: Reason, timeout: float) -> bool:
    try:
        ref.stop(reason, timeout=timeout)
    except TimeoutError:
        return False
    except CallExitError:
        return True
    return True


def _kill_below(system: System, ref: Ref[Any]) -> list[Unstopped]:
    """Kill an actor and all below it, from the top, so that nobody starts anything again."""
    below = kept_by(ref)
    running = seat_of(system, ref) is not None and in_hand(ref) is not None
    own = [describe_late(system, ref)] if running else []
    for child in below:
        drop_link(ref, child)  # one that traps exits would begin to terminate now, and be late as well
    kill(ref)
    return [*own, *(late for child in reversed(below) for late in _kill_below(system, child))]


def describe_late(system: System, ref: Ref[Any]) -> Unstopped:
    """Where a late actor's code is."""
    seat = seat_of(system, ref)
    if seat is None:
        return Unstopped(ref.path, None, None)
    return Unstopped(ref.path, seat.thread_name, frame_line(seat))
