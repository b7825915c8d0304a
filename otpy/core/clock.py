"""The seam for time: what otpy asks of a clock."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Clock"]


class Clock(Protocol):
    """Where a system takes its time from; `otpy.runtime.timers.MonotonicClock` unless a test says otherwise."""

    is_virtual: bool
    """Whether time moves only when told; then no thread of otpy waits on real time."""

    def now(self) -> float:
        """Seconds since some fixed point; never goes back."""
        ...
