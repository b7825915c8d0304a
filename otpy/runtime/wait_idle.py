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

__all__ = ["is_idle", "turns_begun", "wait_idle"]


def wait_idle(system: System, timeout: float) -> None:
    """See `System.wait_idle`."""
    seat = here()
    seat.may_block()
    if seat.pool is system.pool:
        if system.pool.is_seeded and not system.pool.queue:
            return  # one thread runs at a time, and it is this one
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
    before = turns_begun(system)
    # Twice: whoever was seen at rest may have got a message from somebody who was looked at later. If so, the second
    # look finds it busy, or finds that it has begun a turn since.
    return _is_at_rest(system) and _is_at_rest(system) and turns_begun(system) == before


def _is_at_rest(system: System) -> bool:
    return system.pool.is_idle() and all(home.is_idle() for home in list(system.threads))


def turns_begun(system: System) -> int:
    """How many turns have begun since the system was made."""
    in_pool = sum(worker.turns for worker in list(system.pool.workers))
    return in_pool + sum(home.turns() for home in list(system.threads))


def _dump(system: System, timeout: float) -> str:
    frames = sys._current_frames()  # noqa: SLF001 - the documented way to see other threads
    lines = [f"{system.name} is not idle after {timeout:g} s; {len(system.pool.queue)} actors wait for a turn"]
    for thread in threading.enumerate():
        if thread.name.startswith("otpy") and thread.ident in frames:
            stack = "".join(traceback.format_stack(frames[thread.ident])[-4:])
            lines.append(f"--- {thread.name}\n{stack}")
    return "\n".join(lines)
