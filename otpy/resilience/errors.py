"""The errors of `otpy.resilience`.

OtpyError
└── BreakerOpenError      the breaker lets no call through now
"""

from __future__ import annotations

from otpy.errors import OtpyError

__all__ = ["BreakerOpenError"]


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
