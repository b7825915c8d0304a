"""An alarm: the one time at which an actor wants to be woken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.core.backoff import Backoff, delay

if TYPE_CHECKING:
    from otpy.runtime.actor import Actor
    from otpy.runtime.timers import Timer

__all__ = ["Alarm"]

PAUSES = Backoff(first=0.1, most=5.0)
"""Before what the store has failed is tried again."""


class Alarm:
    """Sends its actor one message; to set it again takes the earlier time back. For the actor's own turns alone."""

    def __init__(self, actor: Actor, message: object) -> None:
        """Of this actor, whose `handle_info` gets the message."""
        self._actor, self._message = actor, message
        self._timer: Timer | None = None
        self._failures = 0

    def set(self, seconds: float) -> None:
        """Ring so many seconds from now, and not before; at once when the time is over."""
        self._failures = 0
        self._ring_in(max(0.0, seconds))

    def set_again(self) -> None:
        """Ring after a pause, for the store has failed; each is longer than the one before, until `set` is called."""
        pause = delay(PAUSES, self._failures, self._actor.system.random.random())
        self._failures += 1
        self._ring_in(pause)

    def _ring_in(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._actor.send_after(seconds, self._message)
