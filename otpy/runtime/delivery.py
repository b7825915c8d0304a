"""How what comes by `tell`, `ask` and `stop` is handed to an actor; calls and casts name their method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from otpy.core.reason import Reason

__all__ = ["deliver_info", "deliver_request", "deliver_stop"]


def deliver_info(actor: Any, message: object) -> object:  # Any: actors are known on a higher floor
    """Hand over a message that came by `tell`."""
    return actor.on_info(message)


def deliver_request(actor: Any, message: object) -> object:  # as above
    """Hand over a request that came by `ask`."""
    return actor.on_request(message, actor.caller)


def deliver_stop(actor: Any, reason: Reason) -> object:  # as above
    """Hand over the wish that the actor ends."""
    return actor.on_stop_request(reason)
