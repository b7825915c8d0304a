"""How fast an outbox may send: pauses after failures, and the ramp after a reconnection. Pure: no clock, no thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from otpy.core.backoff import delay, delay_as_asked

if TYPE_CHECKING:
    from otpy.core.backoff import Backoff

__all__ = ["Route"]

GAP = 1.0
"""Seconds between two batches, about, when the ramp begins; none when it ends."""


@dataclass(slots=True)
class Route:
    """The way to the receiver. It begins as after an outage: with a program often all others begin, too."""

    backoff: Backoff
    """The pauses after failures."""
    ramp: float
    """Seconds after the first success in which batches grow to their full size, and the gaps between them vanish."""
    rows: int
    """Rows of a full batch."""
    failures: int = 0
    """Rounds in a row in which no sender has delivered."""
    _up_since: float | None = None

    def failed(self, chance: float, asked: float | None) -> float:
        """No sender has delivered: seconds until all are tried again.

        Args:
            chance: drawn from [0, 1).
            asked: seconds in which the service wants to be left alone, if it has said so.
        """
        before, self.failures, self._up_since = self.failures, self.failures + 1, None
        if asked is None:
            return delay(self.backoff, before, chance)
        return delay_as_asked(self.backoff, before, asked, chance)

    def closed(self, retry_after: float, chance: float) -> float:
        """All breakers are open: seconds until a probe. Those of a thousand agents opened in the same moment, too."""
        return retry_after + delay(self.backoff, self.failures, chance)

    def delivered(self, now: float) -> None:
        """A sender has delivered."""
        self.failures = 0
        if self._up_since is None:
            self._up_since = now

    def end_ramp(self) -> None:
        """There is no time for one: the program ends."""
        self.ramp = 0.0

    def most(self, now: float) -> int:
        """Rows that the next batch may have; the first one after an outage is a single row, which finds out."""
        return max(1, int(self.rows * self._share(now)))

    def gap(self, now: float, chance: float) -> float:
        """Seconds until the next batch."""
        return GAP * (1.0 - self._share(now)) * (0.5 + chance)

    def _share(self, now: float) -> float:
        if self.ramp <= 0:
            return 1.0
        if self._up_since is None:
            return 0.0
        return min(1.0, (now - self._up_since) / self.ramp)
