"""Somebody who ends while another thread looks at him."""

from __future__ import annotations

from typing import Any

__all__ = ["Leaving"]


class Leaving:
    """A ref whose actor is there at the first look, and never after."""

    path, reason = "t/leaving", None

    def __init__(self, actor: object) -> None:
        """Of this actor."""
        self._actor: object = actor

    @property
    def ref(self) -> Any:  # Any: as below
        """As the entry of a child: who it is, once."""
        return self.actor

    @property
    def actor(self) -> Any:  # Any: of whatever class
        """What it is, once."""
        actor, self._actor = self._actor, None
        return actor
