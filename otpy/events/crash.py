"""The crash report: what an actor was and did when it ended with an abnormal reason."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from otpy.core.reason import Crashed
from otpy.core.text import shorten
from otpy.core.value import value
from otpy.events.event import Event

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.core.reason import Reason

__all__ = ["ActorCrashed", "Neighbour"]

MAX_LINE = 600
"""Characters of one line of details in the log."""


@value(kw_only=True)
class Neighbour:
    """An actor that ends because one it is linked to crashed, for it does not trap exits. OTP: the same word."""

    path: str
    """Its path."""
    kind: str
    """Its class or function."""
    message: str | None
    """What it was handling, bounded in length."""
    queue: int
    """How many messages were waiting."""
    ancestors: tuple[str, ...]
    """Who stands above it, its parent first."""

    def __str__(self) -> str:
        return f"{self.path} ({self.kind})"


@value(kw_only=True)
class ActorCrashed(Event):
    """An actor ended with an abnormal reason. OTP: the crash report."""

    kind: str
    """Its class or function."""
    reason: Reason
    """Why."""
    message: str | None
    """What it was handling, with its arguments; bounded in length, and without secrets."""
    queue: int
    """How many messages were still waiting."""
    hint: str | None = None
    """What usually helps against this."""
    name: str | None = None
    """Its registered name."""
    state: tuple[tuple[str, str], ...] = ()
    """Its public attributes as names and texts; bounded in number and length, and without secrets."""
    links: tuple[str, ...] = ()
    """To whom it was linked; of many some."""
    monitors: int = 0
    """How many watched it."""
    ancestors: tuple[str, ...] = ()
    """Who stands above it, its parent first."""
    traps_exits: bool = False
    """Whether exit signals reached it as messages."""
    neighbours: tuple[Neighbour, ...] = ()
    """Who ends with it, being linked and not trapping exits, directly or through others; at most 15."""
    callers: tuple[str, ...] = ()
    """Whose calls fail with it: paths, `outside` for a thread that is no actor's; of many some."""

    @property
    def level(self) -> int:
        """An error."""
        return logging.ERROR

    def __str__(self) -> str:
        during = f" during {self.message}" if self.message else ""
        lines = [f"{self.path} ({self.kind}) crashed{during}: {self.reason}"]
        if isinstance(self.reason, Crashed):
            lines.append(self.reason.traceback)
        if self.state or self.queue or self.links or self.neighbours or self.callers or self.hint or self.monitors:
            lines.extend(self._details())
        return "\n".join(lines)

    def _details(self) -> Iterator[str]:
        if self.state:
            yield shorten("state: " + ", ".join(f"{name}={text}" for name, text in self.state), MAX_LINE)
        around = [path for path in self.links if path not in self.ancestors]
        facts = [
            f"name: {self.name}" if self.name and self.name != self.path else "",
            f"{self.queue} messages waiting" if self.queue else "",
            f"linked to {', '.join(around)}" if around else "",
            f"watched by {self.monitors}" if self.monitors else "",
        ]
        if any(facts):
            yield shorten("; ".join(filter(None, facts)), MAX_LINE)
        if self.neighbours:
            yield shorten("ends with it: " + ", ".join(map(str, self.neighbours)), MAX_LINE)
        if self.callers:
            yield shorten("calls that fail: from " + ", ".join(self.callers), MAX_LINE)
        if self.hint:
            yield self.hint
