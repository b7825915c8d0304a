"""The timeout an actor sets for itself: `handle_timeout` runs unless a message comes first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.runtime.mailbox import put

if TYPE_CHECKING:
    from otpy.runtime.message import Message
    from otpy.runtime.ref import Ref
    from otpy.runtime.timers import Timer

__all__ = [
    "arm_timeout",
    "disarm_timeout",
]


def arm_timeout(ref: Ref[Any], seconds: float) -> None:
    """Have `handle_timeout` run after so many seconds unless a message comes first."""
    more = ref.extras()
    if more.idle_timer is not None:
        more.idle_timer.cancel()
    more.idle_timer = ref.system.timers.after(seconds, _time_out, ref)
    ref.alert = True


def _time_out(ref: Ref[Any]) -> None:
    put(ref, (deliver_timeout,))


def deliver_timeout(actor: Any) -> object:  # Any: actors are known on a higher floor
    """Hand over the timeout, unless a message came first."""
    more = actor.ref.extras()
    timer: Timer | None = more.idle_timer
    if timer is None or not timer.fired:
        return None
    more.idle_timer = None
    return actor.handle_timeout()


def disarm_timeout(ref: Ref[Any], message: Message | None) -> bool:
    """A message came: cancel the armed timeout. False when it stays armed, as there was no message or it is its own."""
    more = ref.extras()
    if message is None or (isinstance(message, tuple) and message[0] is deliver_timeout) or more.idle_timer is None:
        return False
    more.idle_timer.cancel()
    more.idle_timer = None
    return True
