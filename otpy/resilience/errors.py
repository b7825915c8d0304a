"""The errors of `otpy.resilience`.

OtpyError
├── BreakerOpenError      the breaker lets no call through now
└── RetryError            it did not succeed, however often it was tried
"""

from __future__ import annotations

from typing import Literal

from otpy.core.text import aloud, exception_line
from otpy.errors import OtpyError

__all__ = ["BreakerOpenError", "RetryError"]

GAVE_UP = {
    "attempts": "that was the last attempt",
    "deadline": "the next one would come after the deadline",
    "budget": "the retry budget is used up",
}
GaveUp = Literal["attempts", "deadline", "budget"]


class BreakerOpenError(OtpyError):
    """A circuit breaker is open: the call was not made."""

    def __init__(self, breaker: str, retry_after: float | None) -> None:
        """Say when to come again: `retry_after` in seconds; None when somebody holds it open."""
        if retry_after is None:
            text = "it was forced open, until somebody resets it"
        elif retry_after > 0:
            text = f"it lets the next call through in {retry_after:.3g} s"
        else:
            text = "others are finding out whether it may close"
        super().__init__(f"breaker {breaker!r} is open: {text}")
        self.breaker = breaker
        self.retry_after = retry_after


class RetryError(OtpyError):
    """A call failed and is not tried again; its last error is the cause (`__cause__`)."""

    def __init__(self, what: str, attempts: int, gave_up: GaveUp, last: BaseException) -> None:
        """Name the call, how often it was tried, why no more, and how it failed last."""
        times = "once" if attempts == 1 else f"{attempts} times"
        shown = exception_line(last, 200, box=aloud)
        super().__init__(f"{what} failed {times}, and {GAVE_UP[gave_up]}; last by {shown}")
        self.attempts = attempts
        self.gave_up = gave_up
        self.last = last
