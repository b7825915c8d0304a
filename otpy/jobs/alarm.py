"""An alarm: the one time at which an actor wants to be woken."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otpy.runtime.actor import Actor
    from otpy.runtime.timers import Timer

__all__ = ["Alarm"]


class Alarm:
    """Sends its actor one message; to set it again takes the earlier time back. For the actor's own turns alone."""

    def __init__(self, actor: Actor, message: object) -> None:
        """Of this actor, whose `handle_info` gets the message."""
        self._actor, self._message = actor, message
        self._timer: Timer | None = None

    def set(self, seconds: float) -> None:
        """Ring so many seconds from now, and not before; at once when the time is over."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._actor.send_after(max(0.0, seconds), self._message)
