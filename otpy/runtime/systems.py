"""Every system of the program: for tests that look for forgotten ones, and for what a fork leaves of them."""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
        system.timers.close_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
