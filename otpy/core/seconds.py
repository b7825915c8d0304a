"""How sentences write seconds."""

from __future__ import annotations

import math

__all__ = ["in_seconds"]


def in_seconds(seconds: float) -> str:
    """Seconds as a sentence says them, to three figures or so, and no finer than milliseconds: `25 s`, `0.002 s`.

    What is less than half a millisecond, and did take time, is `<0.001 s`.
    """
    if 0 < abs(seconds) < 0.0005:  # noqa: PLR2004 - half a millisecond
        return "<0.001 s"
    if 1_000 <= abs(seconds) < math.inf:  # noqa: PLR2004 - from there on `g` has exponents
        return f"{seconds:.0f} s"
    digits = 3 if abs(seconds) < 0.1 else 2  # noqa: PLR2004 - hundredths are enough from there on
    return f"{round(seconds, digits):.3g} s"
