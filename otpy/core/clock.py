"""The seam for time: what otpy asks of a clock, and the time of day that it writes down."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Clock", "set_wall", "virtual_wall", "wall_clock"]

EPOCH = 1_750_000_000_000
"""Milliseconds of the wall clock at which virtual time begins."""


class Clock(Protocol):
    """Where a system takes its time from; `otpy.runtime.timers.MonotonicClock` unless a test says otherwise."""

    is_virtual: bool
    """Whether time moves only when told; then no thread of otpy waits on real time."""

    def now(self) -> float:
        """Seconds since some fixed point; never goes back."""
        ...


def wall_clock() -> int:
    """Milliseconds since 1970; whoever sets the machine's clock may have it jump, in either direction."""
    return time.time_ns() // 1_000_000 + _ahead


def virtual_wall(clock: Clock) -> Callable[[], int]:
    """What tells the time of day of a virtual clock, as `wall_clock` does of the machine."""
    return lambda: EPOCH + round(clock.now() * 1_000) + _ahead


_ahead = 0
"""Milliseconds by which a test has set the time of day."""


def set_wall(milliseconds: int) -> None:
    """Have all that reads the time of day here be so much ahead, or behind; for tests."""
    global _ahead  # noqa: PLW0603 - as the machine's own, there is one
    _ahead += milliseconds
