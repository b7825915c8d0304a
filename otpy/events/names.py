"""Which of several programs holds a name that they share."""

from __future__ import annotations

import logging

from otpy.core.value import value
from otpy.events.event import Event

__all__ = ["NameHeld", "NameLost", "NameResigned"]


@value(kw_only=True)
class NameHeld(Event):
    """This program holds the name from now on, and begins the name's child."""

    name: str
    """As in `jobs.singleton`."""
    epoch: int
    """One more than that of any program before."""

    @property
    def level(self) -> int:
        """As it should be."""
        return logging.INFO

    def __str__(self) -> str:
        return f"{self.path}: holds {self.name!r}, epoch {self.epoch}"


@value(kw_only=True)
class NameLost(Event):
    """This program has held the name, and could not any longer; the child has ended."""

    name: str
    """As in `jobs.singleton`."""
    epoch: int
    """Under which it has held the name."""
    why: str
    """What has happened, in words."""

    def __str__(self) -> str:
        return f"{self.path}: holds {self.name!r} no longer, epoch {self.epoch} is lost: {self.why}"


@value(kw_only=True)
class NameResigned(Event):
    """This program has held the name, and lets another one have it; the child has ended."""

    name: str
    """As in `jobs.singleton`."""
    epoch: int
    """Under which it has held the name."""
    why: str
    """What made it do so, in words."""
    is_well: bool
    """Whether it was told to stop; else the child has ended by itself, or did not start."""

    @property
    def level(self) -> int:
        """A warning when the child has not gone on."""
        return logging.INFO if self.is_well else logging.WARNING

    def __str__(self) -> str:
        return f"{self.path}: gives {self.name!r} back, epoch {self.epoch}: {self.why}"
