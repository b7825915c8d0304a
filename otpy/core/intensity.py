"""Restart intensity: how many restarts a supervisor bears within a window of time."""

from __future__ import annotations

from bisect import bisect_left
from typing import Literal

from otpy.core.number import is_number
from otpy.core.text import safe_repr
from otpy.core.value import value

__all__ = ["Limit", "Window", "admit"]


@value
class Window:
    """At most `max_restarts` within any `max_seconds`; the next one is too many."""

    max_restarts: int = 3
    """As in Elixir; OTP's own default is 1."""
    max_seconds: float = 5.0
    """The window, in seconds."""

    def problem(self) -> str | None:
        """Why it cannot be used, and the mend; None when it can."""
        if type(self.max_restarts) is not int or self.max_restarts < 0:
            return f"max_restarts={safe_repr(self.max_restarts)}: a whole number >= 0"
        if not (is_number(self.max_seconds) and self.max_seconds > 0):
            return f"max_seconds={safe_repr(self.max_seconds)}: seconds > 0"
        return None


@value
class Limit(Window):
    """The limit of a single child, in place of its supervisor's: `.opts(limit=otpy.Limit(3, 60.0))`."""

    then: Literal["give_up", "escalate"] = "give_up"
    """What happens to the one restart too many: the child alone stays without a process until somebody starts it, or
    the supervisor gives up as for its own limit."""

    def problem(self) -> str | None:
        """As of any window; and what it is to do is one of the two."""
        if self.then not in ("give_up", "escalate"):
            return f"then={safe_repr(self.then)}: 'give_up' or 'escalate'"
        return Window.problem(self)


def admit(window: Window, stamps: list[float], now: float) -> bool:
    """Count a restart at `now`; returns whether it may go ahead.

    `stamps`, those of earlier restarts, oldest first, are changed in place: what has left the window goes, `now` is
    added. A supervisor that bears ten thousand restarts in a second does not copy them at each.

    Earlier restarts count when their stamp is `>= now - max_seconds`. OTP: supervisor:add_restart/1. Differs: OTP
    floors stamps to whole seconds, so that its real window lies between `max_seconds` and one second more; this one
    is exact.
    """
    del stamps[: bisect_left(stamps, now - window.max_seconds)]  # a clock never goes back: they are sorted
    stamps.append(now)
    return len(stamps) <= window.max_restarts
