"""What a handler may return instead of a plain value: its decision how to go on."""

from __future__ import annotations

from dataclasses import field

from otpy.core.absent import ABSENT
from otpy.core.reason import Normal, Reason, check_reason
from otpy.core.value import value

__all__ = ["Continue", "Decision", "Fail", "Ignore", "NoReply", "Reply", "Stop"]


class Decision:
    """Base of what a handler can decide."""

    __slots__ = ()


@value
class Continue(Decision):
    """Go on with `handle_continue(term)` before any other message. From `init`: after the starter was released.

    OTP: `{continue, Term}`.
    """

    term: object = None
    """Handed to `handle_continue`."""


@value
class Reply(Decision):
    """Answer the call and go on. A plain return value is the same without options. OTP: `{reply, …}`."""

    value: object
    """The reply."""
    timeout: float | None = field(default=None, kw_only=True)
    """Seconds after which `handle_timeout` runs unless a message comes first."""
    then: Continue | None = field(default=None, kw_only=True)
    """What to go on with."""


@value
class NoReply(Decision):
    """Go on; a call is answered later by `caller.reply(value)`. OTP: `{noreply, …}`."""

    timeout: float | None = field(default=None, kw_only=True)
    """Seconds after which `handle_timeout` runs unless a message comes first."""
    then: Continue | None = field(default=None, kw_only=True)
    """What to go on with."""


@value
class Stop(Decision):
    """End the actor: `terminate` runs, then the reply is sent, then it exits. OTP: `{stop, Reason, Reply, State}`.

    From `init`: the start fails with this reason.
    """

    reason: Reason = field(default_factory=Normal)
    """The exit reason."""
    reply: object = ABSENT
    """The caller's reply; without one the call fails with the reason."""

    def __post_init__(self) -> None:
        """Refuse what is no reason, where it was written. Raises TypeError."""
        check_reason("Stop", self.reason)

    @property
    def has_reply(self) -> bool:
        """Whether the caller gets a reply."""
        return self.reply is not ABSENT


@value
class Ignore(Decision):
    """From `init`: there is nothing to do, and that is no failure. OTP: `ignore`."""


@value
class Fail(Decision):
    """From `init`: the start fails, but nothing crashed: the actor ends `Normal`. OTP >= 26: `{error, Reason}`."""

    reason: Reason
    """Why."""

    def __post_init__(self) -> None:
        """As `Stop`. Raises TypeError."""
        check_reason("Fail", self.reason)
