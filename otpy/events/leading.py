"""Which of several programs leads."""

from __future__ import annotations

import logging

from otpy.core.value import value
from otpy.events.event import Event

__all__ = ["LeaderElected", "LeaderLost", "LeaderResigned"]


@value(kw_only=True)
class LeaderElected(Event):
    """This program leads from now on."""

    epoch: int
    """One more than that of any leader before."""

    @property
    def level(self) -> int:
        """As it should be."""
        return logging.INFO

    def __str__(self) -> str:
        return f"{self.path}: leads, epoch {self.epoch}"


@value(kw_only=True)
class LeaderLost(Event):
    """This program has led, and could not any longer; its duties have ended."""

    epoch: int
    """Under which it has led."""
    why: str
    """What has happened, in words."""

    def __str__(self) -> str:
        return f"{self.path}: leads no longer, epoch {self.epoch} is lost: {self.why}"


@value(kw_only=True)
class LeaderResigned(Event):
    """This program has led, and lets another do so; its duties have ended."""

    epoch: int
    """Under which it has led."""
    why: str
    """What made it do so, in words."""
    is_well: bool
    """Whether it was told to stop; else its duties have failed."""

    @property
    def level(self) -> int:
        """A warning when it cannot do its duties."""
        return logging.INFO if self.is_well else logging.WARNING

    def __str__(self) -> str:
        return f"{self.path}: resigns, epoch {self.epoch}: {self.why}"
