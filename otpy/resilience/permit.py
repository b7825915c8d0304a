"""A call that has begun and whose outcome is told later; the calls in it may go by its permit, and tell for it."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from otpy.resilience.cause import cause_of
from otpy.resilience.snapshot import EXCLUDED, FAILED, SLOW, Probe

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from otpy.resilience.breaker import Breaker
    from otpy.resilience.snapshot import Outcome, Snapshot
    from otpy.resilience.switch import Switch

__all__ = ["LENT", "Permit", "lent"]

LENT: ContextVar[Mapping[Switch, Permit | None] | None] = ContextVar("otpy_breaker_permits", default=None)
"""What the code that runs here was let begin by; None of a breaker where the permit is out of reach, in a process."""


class Permit:
    """One call that a breaker has let begin: `breaker.allow()`. Only the first outcome that is told counts."""

    __slots__ = ("_begun", "_breaker", "_is_bad", "_is_open", "_last", "_ticket")

    def __init__(self, breaker: Breaker, ticket: Snapshot | Probe, begun: float) -> None:
        """Made by `Breaker.allow`."""
        self._breaker = breaker
        self._ticket = ticket
        self._begun = begun
        self._is_open = True
        self._last: Outcome | None = None  # what a call in it has told
        self._is_bad = False  # whether one has told that it failed, or was slow

    @property
    def breaker(self) -> Breaker:
        """Whose it is."""
        return self._breaker

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
            cause = cause_of(error) if error is not None and is_failure else None
            self._breaker.report(self._ticket, FAILED if is_failure else EXCLUDED, cause)

    def release(self) -> None:
        """The call was not made, or says nothing about the service."""
        if self._close():
            self._breaker.report(self._ticket, EXCLUDED)

    def cut(self) -> None:
        """The call was ended from outside, and so was what it was doing: a failure, unless that was the last told."""
        if self._last != FAILED:
            self._last = None
        self.failed()

    def carry(self, snapshot: Snapshot) -> Snapshot | Probe | None:
        """What a call in it goes by where not all pass: a probe's go through in its own phase, until one has failed.

        When the breaker has opened since, the first goes as one that is under way: it was let begin, and its outcome is
        of a phase that is over.
        """
        ticket = self._ticket
        if not self._is_open or self._is_bad or snapshot.state == "forced_open":
            return None
        ahead = snapshot.generation - ticket.generation
        if isinstance(ticket, Probe) and ahead in (-1, 0):
            return ticket
        return ticket if ahead == 2 and self._last is None else None  # noqa: PLR2004 - see Machine: to the next phase

    def hear(self, ticket: Snapshot | Probe, outcome: Outcome) -> bool:
        """A call in it tells its outcome, and with that the permit's own; whether it goes to the breaker.

        One that says nothing gives no probe back: the next call in it may say more.
        """
        if not self._is_open:
            return True
        self._last = outcome
        self._is_bad = self._is_bad or outcome in (FAILED, SLOW)
        return outcome != EXCLUDED or ticket is not self._ticket

    def _close(self) -> bool:
        """Whether the outcome is still to be told; where the calls in it have told theirs it is not, but it is over."""
        was_open, self._is_open = self._is_open, False
        if was_open and self._last is not None:
            self._breaker.report(self._ticket, EXCLUDED)
            return False
        return was_open


@contextmanager
def lent(breakers: Collection[Breaker], permits: Collection[Permit]) -> Iterator[None]:
    """Have the calls in the block go by these permits, and tell for them, also in threads that get its context.

    Of a breaker without a permit, as in another process than the one that has it, they go as ever.
    """
    if not breakers:
        yield
        return
    token = LENT.set({**dict.fromkeys(breakers), **{permit.breaker: permit for permit in permits}})
    try:
        yield
    finally:
        LENT.reset(token)
