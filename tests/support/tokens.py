"""Tokens of a pool, counted."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import otpy

__all__ = ["tokens"]

PATIENCE = 10.0
"""Seconds a watchdog may take to fall asleep; only a failing test waits so long."""


def tokens(system: otpy.System) -> int:
    """How many there are in a system at rest, wherever they are; the watchdog, which moves them, is asleep by then."""
    pool = system.pool
    for _ in range(int(PATIENCE / 0.005)):
        if pool.on_busy is not None:  # set only while it sleeps
            break
        threading.Event().wait(0.005)
    return sum(len(worker.tok) for worker in pool.workers) + pool.free.count(None)
