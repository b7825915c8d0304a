"""How much waits in an outbox, what was dropped, how the sending goes: kept by one actor, read by anybody."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from otpy.core.value import value

__all__ = ["Books", "OutboxLook", "Tally", "Why"]

Why = Literal["age", "damaged", "new", "oldest", "refused", "sample"]
"""Why a row was dropped: it was too old, unreadable, or came when the topic was full; it had waited longest; the
receiver will never take it; or it was thinned out."""


@value(kw_only=True)
class OutboxLook:
    """How an outbox stands: `outbox.look()`."""

    rows: int
    """Rows that wait."""
    size_bytes: int
    """What their payloads have together."""
    oldest_age: float | None
    """Seconds since the oldest of them was put, as far as the outbox was open; None when nothing waits."""
    sent: int
    """Rows that a receiver has taken, since the program began."""
    dropped: dict[str, int]
    """Rows that were dropped, by the reason, since the file was made."""
    sender: str | None
    """Who has delivered the last batch; None before the first."""
    degraded: float | None
    """For how many seconds the first sender has not been delivering; None while it does."""
    why: str | None
    """What stands in its way, or in that of new rows."""
    full: tuple[str, ...] = ()
    """Topics in which the last row that was put found no room, and from which none has been sent since."""


@dataclass(slots=True)
class Tally:
    """What waits in one topic."""

    rows: int = 0
    size: int = 0
    head: tuple[int, int] | None = None
    """The number of the oldest row, and when it was put, in milliseconds that the outbox was open."""
    is_full: bool = False
    """Whether the last row found no room, and nothing has gone out since."""


@dataclass(slots=True)
class Books:
    """All of it. Tallies change in a transaction, and go back with it."""

    tallies: dict[str, Tally] = field(default_factory=dict)
    dropped: dict[tuple[str, Why], tuple[int, int]] = field(default_factory=dict)
    """Rows and bytes, by topic and reason."""
    sent: int = 0
    sender: str | None = None
    degraded_since: float | None = None
    """By the system's clock."""
    why: str | None = None
    _saved: tuple[dict[str, Tally], dict[tuple[str, Why], tuple[int, int]]] = ({}, {})

    def tally(self, topic: str) -> Tally:
        """That of a topic."""
        found = self.tallies.get(topic)
        if found is None:
            found = self.tallies[topic] = Tally()
        return found

    def begin(self) -> None:
        """A transaction begins."""
        self._saved = ({name: replace(tally) for name, tally in self.tallies.items()}, dict(self.dropped))

    def undo(self) -> None:
        """It has failed."""
        self.tallies, self.dropped = self._saved

    def drop(self, topic: str, why: Why, rows: int, size: int) -> None:
        """Count what was dropped."""
        before_rows, before_size = self.dropped.get((topic, why), (0, 0))
        self.dropped[topic, why] = (before_rows + rows, before_size + size)

    @property
    def rows(self) -> int:
        """Of all topics."""
        return sum(tally.rows for tally in list(self.tallies.values()))

    @property
    def size(self) -> int:
        """Of all topics."""
        return sum(tally.size for tally in list(self.tallies.values()))

    @property
    def oldest(self) -> int | None:
        """When the oldest of all rows was put, in milliseconds that the outbox was open."""
        heads = [tally.head for tally in list(self.tallies.values())]  # read once: its actor may take away the last row
        return min((head[1] for head in heads if head), default=None)

    def full(self) -> tuple[str, ...]:
        """Topics that are."""
        return tuple(sorted(name for name, tally in list(self.tallies.items()) if tally.is_full))

    def drops(self) -> dict[str, int]:
        """Rows that were dropped, by the reason."""
        found: dict[str, int] = {}
        for (_, why), (rows, _) in list(self.dropped.items()):
            found[why] = found.get(why, 0) + rows
        return found
