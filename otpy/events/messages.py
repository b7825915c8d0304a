"""What becomes of messages that nobody handles, or that too many of wait."""

from __future__ import annotations

import logging

from otpy.core.value import value
from otpy.events.event import Event

__all__ = ["DeadLetter", "MailboxGrew", "UnknownMessage"]


@value(kw_only=True)
class DeadLetter(Event):
    """A message nobody will handle: the receiver at `path` is dead, its mailbox was full, or nobody had the name."""

    message: str
    """What it was, bounded in length."""
    why: str
    """What became of the receiver."""

    @property
    def level(self) -> int:
        """Quite ordinary around restarts."""
        return logging.DEBUG

    def __str__(self) -> str:
        return f"{self.path}: {self.message} was not handled: {self.why}"


@value(kw_only=True)
class UnknownMessage(Event):
    """An actor got a message that its class does not handle, and dropped it."""

    message: str
    """What it was, bounded in length."""

    def __str__(self) -> str:
        return f"{self.path} got a message it does not handle: {self.message}"


@value(kw_only=True)
class MailboxGrew(Event):
    """An unbounded mailbox reached 10 000 or 100 000 waiting messages; said once for each of the two."""

    length: int
    """How many wait."""

    def __str__(self) -> str:
        return f"{self.path} has {self.length} messages waiting; it gets more than it can handle"
