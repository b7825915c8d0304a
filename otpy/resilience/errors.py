"""The errors of `otpy.resilience`.

OtpyError
├── BatchError (ValueError)   what has come is no batch of an outbox
├── BreakerOpenError      the breaker lets no call through now
├── ConfigurationError    a configuration cannot be used
│   ├── ConfigurationFileError  its folder cannot be used, or keeps nothing now
│   └── NoConfigurationError (LookupError)  there is none that can be used
├── LaterError            the receiver has said when this agent may come again
├── OutboxError           something was not put into an outbox
│   ├── NoSuchTopicError (LookupError)  it has no topic of that name
│   ├── OutboxFileError   its file cannot be used, or keeps nothing now
│   ├── OutboxFullError   the topic is full, and refuses what is new
│   └── PayloadError (TypeError)  it is no plain data, or too large
└── RetryError            it did not succeed, however often it was tried
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from otpy.core.seconds import in_seconds
from otpy.core.suggest import did_you_mean
from otpy.core.text import aloud, exception_line, safe_repr
from otpy.errors import OtpyError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otpy.disk.sqlite import Failure

__all__ = [
    "BatchError",
    "BreakerOpenError",
    "ConfigurationError",
    "ConfigurationFileError",
    "LaterError",
    "NoConfigurationError",
    "NoSuchTopicError",
    "OutboxError",
    "OutboxFileError",
    "OutboxFullError",
    "PayloadError",
    "RetryError",
]

GAVE_UP = {
    "attempts": "that was the last attempt",
    "deadline": "the next one would come after the deadline",
    "budget": "the retry budget is used up",
}
GaveUp = Literal["attempts", "deadline", "budget"]


class BatchError(OtpyError, ValueError):
    """What has come is no batch of an outbox, or this otpy cannot read it; nothing of it was taken."""


class BreakerOpenError(OtpyError):
    """A circuit breaker is open: the call was not made."""

    def __init__(self, breaker: str, retry_after: float | None) -> None:
        """Say when to come again: `retry_after` in seconds; None when somebody holds it open."""
        if retry_after is None:
            text = "it was forced open, until somebody resets it"
        elif retry_after > 0:
            text = f"it lets the next call through in {in_seconds(retry_after)}"
        else:
            text = "others are finding out whether it may close"
        super().__init__(f"breaker {breaker!r} is open: {text}")
        self.breaker = breaker
        self.retry_after = retry_after


class ConfigurationError(OtpyError):
    """A configuration cannot be used: it was refused, could not be fetched, or has failed; the message says why."""


class ConfigurationFileError(ConfigurationError):
    """The folder of a configuration cannot be used, or keeps nothing now: its disk fails, or another program has it."""

    def __init__(self, path: str, problem: str, failure: Failure = "other") -> None:
        """Say which, and what sort of failure it is: `busy`, `full` or `other`."""
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem
        self.failure = failure


class LaterError(OtpyError):
    """Raised by a sender: the receiver is well and has said when this agent may come again. No failure.

    What it says is kept to without any jitter, for it is this agent's own turn, as `Turns` allots it. An error with an
    attribute `retry_after` that has told all agents the same is a failure, after which each waits that and some more.
    """

    def __init__(self, retry_after: float) -> None:
        """In so many seconds."""
        super().__init__(f"the receiver wants to be asked again in {in_seconds(retry_after)}")
        self.retry_after = retry_after


class OutboxError(OtpyError):
    """Something was not put into an outbox, or the outbox cannot be used."""


class NoConfigurationError(ConfigurationError, LookupError):
    """There is no configuration that can be used: none was ever fetched, all have failed, or it is too old."""


class NoSuchTopicError(OutboxError, LookupError):
    """The outbox has no topic of that name; nothing was put."""

    def __init__(self, outbox: str, topic: object, known: Iterable[str]) -> None:
        """Name it, and those that there are."""
        super().__init__(f"outbox {outbox!r} has no topic {safe_repr(topic)}: {did_you_mean(str(topic)[:80], known)}")
        self.outbox = outbox
        self.topic = topic


class OutboxFileError(OutboxError):
    """The outbox's file cannot be used, or keeps nothing now: its disk is full or fails, or another program has it.

    What was put has most likely not been kept. A disk that fails in the middle of a commit leaves that open: the row
    may be sent after all.
    """

    def __init__(self, path: str, problem: str, failure: Failure = "other") -> None:
        """Say which, and what sort of failure it is: `busy`, `full`, `broken` or `other`."""
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem
        self.failure = failure


class OutboxFullError(OutboxError):
    """The topic is full, and its overflow is to refuse what is new; nothing was put."""

    def __init__(self, outbox: str, topic: str, rows: int, size_bytes: int) -> None:
        """Say how much is in it."""
        super().__init__(f"outbox {outbox!r}: topic {topic!r} is full with {rows} rows of {size_bytes} bytes")
        self.outbox = outbox
        self.topic = topic
        self.rows = rows
        self.size_bytes = size_bytes


class PayloadError(OutboxError, TypeError):
    """What was to be put is no plain data, or too large, and so was not put; or what was put cannot be read."""


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
