"""How much one client may ask of the control socket, and for how long."""

from __future__ import annotations

from dataclasses import fields

from otpy.core.value import value
from otpy.errors import SpecError

__all__ = ["Limits"]


@value(kw_only=True)
class Limits:
    """The limits of one control socket; times in seconds.

    The defaults fit people at terminals and scripts that poll each second. A client that reaches a time limit loses
    its connection, and nothing else happens.
    """

    max_clients: int = 64
    """Connections at once; the one that has been quiet longest makes room for the next."""
    max_request_bytes: int = 64 * 1024
    """Length of one request; requests are a verb and a path."""
    max_reply_bytes: int = 16 * 1024 * 1024
    """Length of one reply: about 40 000 actors."""
    max_waiting_bytes: int = 64 * 1024 * 1024
    """Replies that clients have not taken, all together and beside the newest; the one that waits longest gives way."""
    max_depth: int = 16
    """Lists and maps within each other in a request."""
    max_commands: int = 16
    """Commands running at once, such as stops that wait for an actor."""
    frame_time: float = 2.0
    """From the first byte of a request to its last."""
    write_time: float = 5.0
    """Until a client has taken a whole reply."""
    idle_time: float = 60.0
    """Without any request."""

    def __post_init__(self) -> None:
        """Refuse a limit nobody could keep."""
        for field in fields(self):
            if not getattr(self, field.name) > 0:
                raise SpecError("control", f"{field.name} must be more than 0, not {getattr(self, field.name)!r}")
