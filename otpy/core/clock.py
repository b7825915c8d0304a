"""The seam for time: what otpy asks of a clock, and the time of day that it writes down."""

from __future__ import annotations

import time
from typing import Protocol

__all__ = ["Clock", "wall_clock"]


class Clock(Protocol):
    """Where a system takes its time from; `otpy.runtime.timers.MonotonicClock` unless a test says otherwise."""

    is_virtual: bool
    """Whether time moves only when told; then no thread of otpy waits on real time."""

    def now(self) -> float:
        """Seconds since some fixed point; never goes back."""
        ...


def wall_clock() -> int:
    """Milliseconds since 1970; whoever sets the machine's clock may have it jump, in either direction."""
    return time.time_ns() // 1_000_000
