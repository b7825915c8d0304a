"""Waiting for rest: until no actor has anything to do."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from typing import TYPE_CHECKING

from otpy.runtime.seat import Slot, here

if TYPE_CHECKING:
    from otpy.runtime.system import System

__all__ = ["is_idle", "wait_idle"]


def wait_idle(system: System, timeout: float) -> None:
    """See `System.wait_idle`."""
    seat = here()
    if seat.pool is system.pool:
        slot = Slot(seat)
        system.pool.drivers.append(slot)
        slot.wait(None)
        return
    changed = threading.Event()
    deadline = time.monotonic() + timeout
    system.pool.idle_watchers.append(changed.set)
    try:
        while not is_idle(system):
            if not changed.wait(max(0.0, deadline - time.monotonic())):
                raise TimeoutError(_dump(system, timeout))
            changed.clear()
    finally:
        system.pool.idle_watchers.remove(changed.set)


def is_idle(system: System) -> bool:
    """Whether nothing runs and nothing waits to run, in the pool and on all threads of actors."""
    homes = list(system.threads)
    before = sum(home.seat.turns for home in homes)
    at_rest = system.pool.is_idle() and all(home.is_idle() for home in homes)
    return at_rest and system.pool.is_idle() and sum(home.seat.turns for home in homes) == before


def _dump(system: System, timeout: float) -> str:
    frames = sys._current_frames()  # noqa: SLF001 - the documented way to see other threads
    lines = [f"{system.name} is not idle after {timeout:g} s; {len(system.pool.queue)} actors wait for a turn"]
    for thread in threading.enumerate():
        if thread.name.startswith("otpy") and thread.ident in frames:
            stack = "".join(traceback.format_stack(frames[thread.ident])[-4:])
            lines.append(f"--- {thread.name}\n{stack}")
    return "\n".join(lines)
