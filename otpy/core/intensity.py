"""Restart intensity: how many restarts a supervisor bears within a window of time."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

__all__ = ["Window", "admit"]


@dataclass(frozen=True, slots=True)
class Window:
    """At most `max_restarts` within any `max_seconds`; the next one is too many."""

    max_restarts: int = 3
    """As in Elixir; OTP's own default is 1."""
    max_seconds: float = 5.0
    """The window, in seconds."""


def admit(window: Window, stamps: tuple[float, ...], now: float) -> tuple[tuple[float, ...], bool]:
    """Count a restart at `now`; returns the stamps to keep, oldest first, and whether it may go ahead.

    Earlier restarts count when their stamp is `>= now - max_seconds`. OTP: supervisor:add_restart/1. Differs: OTP
    floors stamps to whole seconds, so that its real window lies between `max_seconds` and one second more; this one
    is exact.
    """
    recent = (*stamps[bisect_left(stamps, now - window.max_seconds) :], now)  # a clock never goes back: they are sorted
    return recent, len(recent) <= window.max_restarts
