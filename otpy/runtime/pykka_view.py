"""What pykka's users find at a ref: an event of the end, and an inbox to put envelopes into; made when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.runtime.caller import request_future
from otpy.runtime.delivery import deliver_request

if TYPE_CHECKING:
    from otpy.runtime.ref import Ref

__all__ = ["Inbox", "Stopped"]


class Stopped:
    """pykka's `actor_stopped`, without an event."""

    def __init__(self, ref: Ref[Any]) -> None:
        """Of this actor."""
        self._ref = ref

    def is_set(self) -> bool:
        """Whether it has ended."""
        return not self._ref.is_alive()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for its end, so many seconds; whether it has come."""
        try:
            self._ref.monitor().wait(timeout)
        except TimeoutError:
            return False
        return True


class Inbox:
    """pykka's `actor_inbox`, for code that puts envelopes by hand."""

    def __init__(self, ref: Ref[Any]) -> None:
        """Of this actor."""
        self._ref = ref

    def put(self, envelope: Any) -> None:
        """Send what is in the envelope."""
        if envelope.reply_to is None:
            self._ref.tell(envelope.message)
        else:
            request_future(self._ref, (deliver_request, envelope.message), envelope.reply_to)
