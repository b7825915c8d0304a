"""Every system of the program: for tests that look for forgotten ones, and for what a fork leaves of them."""

from __future__ import annotations

import os
import threading
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING

from otpy.runtime.seat import here

if TYPE_CHECKING:
    from otpy.runtime.home import RunQueue
    from otpy.runtime.system import System

__all__ = ["all_systems", "remember"]

_SYSTEMS: weakref.WeakSet[System] = weakref.WeakSet()


def remember(system: System) -> None:
    """Note a new system, as long as somebody holds it."""
    _SYSTEMS.add(system)


def all_systems() -> list[System]:
    """Every system of this program that somebody still holds, stopped or not; tests look here for forgotten ones."""
    return list(_SYSTEMS)


def _after_fork_in_child() -> None:
    """A forked child has none of the parent's threads: its copies of the systems are dead, and own nothing."""
    for system in list(_SYSTEMS):
        system.forked = True
        system.stopped = True
        system.lock = threading.RLock()  # a thread that is gone now may have held it
        system.names.clear()
        system.tops.clear()
        system.orphans.clear()
        system.root = None
        system.pool.closed = True
        system.pool.free.clear()
        for queue in (system.pool.queue, *(home.queue for home in list(system.threads))):
            _drop(queue)
        system.timers.close_in_child()
    ref = here().ref
    if ref is not None and ref.mailbox is not None:  # a handler has forked: its copy may come back, and handles no more
        ref.mailbox.clear()


def _drop(queue: RunQueue) -> None:
    with suppress(IndexError):
        while True:
            queue.popleft()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
