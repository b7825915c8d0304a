"""A call that has begun and whose outcome is told later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.resilience.snapshot import EXCLUDED, FAILED, Probe

if TYPE_CHECKING:
    from otpy.resilience.breaker import Breaker
    from otpy.resilience.snapshot import Snapshot

__all__ = ["Permit"]


class Permit:
    """One call that a breaker has let begin: `breaker.allow()`. Only the first outcome that is told counts."""

    __slots__ = ("_begun", "_breaker", "_is_open", "_ticket")

    def __init__(self, breaker: Breaker, ticket: Snapshot | Probe, begun: float) -> None:
        """Made by `Breaker.allow`."""
        self._breaker = breaker
        self._ticket = ticket
        self._begun = begun
        self._is_open = True

    @property
    def is_probe(self) -> bool:
        """Whether the breaker finds out by this call if it may close; it must report within `probe_timeout`."""
        return isinstance(self._ticket, Probe)

    def succeeded(self) -> None:
        """The call went well, if slowly."""
        if self._close():
            self._breaker.leave(self._ticket, self._begun, None)

    def failed(self, error: BaseException | None = None) -> None:
        """The call failed; an error counts or not by the breaker's own rules."""
        if self._close():
            is_failure = error is None or self._breaker.is_failure(error)
            self._breaker.report(self._ticket, FAILED if is_failure else EXCLUDED)

    def release(self) -> None:
        """The call was not made, or says nothing about the service."""
        if self._close():
            self._breaker.report(self._ticket, EXCLUDED)

    def _close(self) -> bool:
        was_open, self._is_open = self._is_open, False
        return was_open
