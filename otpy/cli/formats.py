"""How the views write durations and numbers."""

from __future__ import annotations

__all__ = ["counted", "duration"]

MINUTE, HOUR, DAY = 60, 3_600, 86_400


def duration(seconds: float) -> str:
    """Seconds in at most two units, as `0.8s`, `3s`, `2m`, `3h 20m`, `12d 4h`."""
    if not 0 <= seconds < DAY * 1_000_000:  # a clock that was set, or no number
        return "?"
    if seconds < 1:
        return f"{seconds:.1f}s"
    whole = int(seconds)
    if whole < MINUTE:
        return f"{whole}s"
    if whole < HOUR:
        return f"{whole // MINUTE}m"
    large, small, unit = (DAY, HOUR, "dh") if whole >= DAY else (HOUR, MINUTE, "hm")
    rest = whole % large // small
    return f"{whole // large}{unit[0]}" + (f" {rest}{unit[1]}" if rest else "")


def counted(number: int, noun: str) -> str:
    """A number of things, as `1 child` or `12 500 actors`."""
    plural = {"child": "children", "try": "tries"}.get(noun, f"{noun}s")
    return f"{number:,} {noun if number == 1 else plural}".replace(",", " ")
