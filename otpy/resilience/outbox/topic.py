"""`Topic`: what kind of rows an outbox takes, how many of them, and what it does when there are more."""

from __future__ import annotations

import math
from dataclasses import field
from typing import Literal, get_args

from otpy.core.number import is_number
from otpy.core.suggest import did_you_mean
from otpy.core.text import safe_repr
from otpy.core.value import value
from otpy.errors import SpecError

__all__ = ["MAX_KEY", "Overflow", "Topic", "topics_of"]

Overflow = Literal["reject", "drop_oldest", "drop_new", "sample"]

MAX_KEY = 200
"""Characters of a key, and of a topic's name."""


@value
class Topic:
    """One stream of an outbox, in which the order holds, with bounds of its own: `Topic("temperature", age=86_400)`."""

    name: str
    """Names it for `put` and for the receiver."""
    rows: int = field(default=100_000, kw_only=True)
    """Rows that may wait."""
    size_bytes: int = field(default=64 << 20, kw_only=True)
    """Bytes that their payloads may have together."""
    age: float | None = field(default=None, kw_only=True)
    """Seconds after which a row that still waits is dropped, None for never. Time in which the outbox is not open does
    not count, and no clock that somebody sets: a machine that wakes with a wrong date loses nothing."""
    overflow: Overflow = field(default="reject", kw_only=True)
    """What becomes of a row for which there is no room: `reject` raises OutboxFullError, `drop_new` drops it,
    `drop_oldest` drops those that have waited longest for it, `sample` drops every second one of each key, a stretch at
    a time, so that what waits gets coarser instead of shorter."""

    def __post_init__(self) -> None:
        """Refuse what cannot be. Raises SpecError."""
        if not isinstance(self.name, str) or not 0 < len(self.name) <= MAX_KEY:
            raise SpecError("Topic", f"name={safe_repr(self.name)}: a text of 1 to {MAX_KEY} characters")
        for word in ("rows", "size_bytes"):
            number = getattr(self, word)
            if type(number) is not int or number < 1:
                raise SpecError(self.name, f"{word}={safe_repr(number)}: a whole number > 0")
        if self.age is not None and not (is_number(self.age) and 0 < self.age < math.inf):
            raise SpecError(self.name, f"age={safe_repr(self.age)}: seconds > 0, or None")
        if self.overflow not in get_args(Overflow):
            hint = did_you_mean(str(self.overflow), get_args(Overflow))
            raise SpecError(self.name, f"overflow={safe_repr(self.overflow)}: {hint}")


def topics_of(name: str, given: object) -> dict[str, Topic]:
    """By their names; a text stands for a topic with the usual bounds. Raises SpecError."""
    if isinstance(given, str) or not isinstance(given, list | tuple) or not given:
        raise SpecError(name, f"topics={safe_repr(given)}: a list of Topics or of their names")
    found: dict[str, Topic] = {}
    for one in given:
        topic = Topic(one) if isinstance(one, str) else one
        if not isinstance(topic, Topic):
            raise SpecError(name, f"topics: {safe_repr(one)} is neither a Topic nor the name of one")
        if topic.name in found:
            raise SpecError(name, f"two of its topics are called {topic.name!r}")
        found[topic.name] = topic
    return found
