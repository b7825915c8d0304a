"""What all events have in common: whom they are about, and how loudly they are told."""

from __future__ import annotations

import logging

from otpy.core.value import value

__all__ = ["Event"]


@value(kw_only=True)
class Event:
    """Something that happened to an actor, or to a whole system."""

    path: str
    """The actor's; the name alone where a name was written to; the system's name where it is about the system."""

    @property
    def level(self) -> int:
        """The level of `logging` it is logged at."""
        return logging.WARNING
