"""Back-off: how long to wait before the next attempt, of a supervisor that restarts or of a call that is retried."""

from __future__ import annotations

import math

from otpy.core.number import is_number
from otpy.core.value import value

__all__ = ["Backoff", "asked_by", "delay", "delay_as_asked", "is_healthy"]


@value(kw_only=True)
class Backoff:
    """Pauses, each longer than the one before: `.opts(backoff=otpy.Backoff(first=0.5, most=30.0))`, or of a retry.

    OTP has none. Prior art: CrashLoopBackOff of Kubernetes, akka's BackoffSupervisor, RestartSec and RestartSteps of
    systemd. The jitter is the full one of https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/.
    """

    first: float = 1.0
    """Seconds before the first restart or retry."""
    factor: float = 2.0
    """Each further pause is so many times the one before."""
    most: float = 60.0
    """Seconds no pause is longer than; applied before the jitter."""
    jitter: float = 1.0
    """The part of a pause that is drawn by chance: 1.0 gives anything from nothing to all of it, 0.0 always all of it.
    What failed together so does not come back together."""
    reset_after: float | None = None
    """Seconds a child must have run for its next pause to be the first one again; None means as long as `most`.
    A retry does not ask."""

    def problem(self) -> str | None:
        """Why it cannot be used, and the mend; None when it can."""
        if not all(is_number(value) for value in (self.first, self.factor, self.most, self.jitter)):
            return f"{self}: its fields are numbers"
        if not 0 <= self.first <= self.most < math.inf:
            return f"first={self.first!r}, most={self.most!r}: seconds, with 0 <= first <= most"
        if not 1 <= self.factor < math.inf:
            return f"factor={self.factor!r}: a number >= 1"
        if not 0 <= self.jitter <= 1:
            return f"jitter={self.jitter!r}: from 0 (none) to 1 (full)"
        if self.reset_after is not None and not (is_number(self.reset_after) and self.reset_after >= 0):
            return f"reset_after={self.reset_after!r}: seconds >= 0, or None for as long as most"
        return None


def delay(backoff: Backoff, attempts: int, chance: float) -> float:
    """Seconds before the next attempt.

    Args:
        backoff: how to wait.
        attempts: how many there have been since the child was last healthy.
        chance: drawn from [0, 1).
    """
    try:
        full = min(backoff.most, backoff.first * backoff.factor**attempts)
    except OverflowError:
        full = backoff.most if backoff.first else 0.0
    return full * (1 - backoff.jitter * chance)


def asked_by(error: BaseException) -> float | None:
    """The seconds in its attribute `retry_after`, as errors of services and of breakers have it; None without a number.

    What it says is not judged here: it may be less than 0, or without end.
    """
    asked = getattr(error, "retry_after", None)
    return asked if is_number(asked) else None


def delay_as_asked(backoff: Backoff, attempts: int, asked: float, chance: float) -> float:
    """Seconds before the next attempt at a service that has said when to come again, as by Retry-After.

    Never sooner than asked, also beyond `most`; and with some jitter on top, for it has told all others the same.

    Args:
        backoff: how to wait.
        attempts: as for `delay`.
        asked: seconds.
        chance: drawn from [0, 1).
    """
    full = delay(backoff, attempts, 0.0)
    return max(full, asked) + 0.2 * full * backoff.jitter * chance


def is_healthy(backoff: Backoff, ran: float) -> bool:
    """Whether a child that ran so many seconds begins anew with the first pause."""
    return ran >= (backoff.most if backoff.reset_after is None else backoff.reset_after)
