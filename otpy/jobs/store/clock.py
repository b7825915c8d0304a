"""The time that is written down."""

from __future__ import annotations

import time

__all__ = ["wall_clock"]


def wall_clock() -> int:
    """Milliseconds of the wall clock."""
    return time.time_ns() // 1_000_000
