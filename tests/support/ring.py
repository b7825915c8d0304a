"""Actors that call each other in a ring, in whatever process they are."""

from __future__ import annotations

from typing import Any

import otpy
from otpy.errors import CallTimeoutError, DeadlockError

__all__ = ["Link"]


class Link(otpy.GenServer):
    """Hands a call on to the next one, and tells what has come of it."""

    def init(self) -> None:
        self.handled = 0
        self.late: list[otpy.Caller] = []
        self.curious: list[otpy.Caller] = []

    @otpy.call
    def pass_on(self, others: list[Any], seconds: float = 20.0) -> Any:
        """Through all others; what the last one got is the answer."""
        self.handled += 1
        if not others:
            return "through"
        first, *rest = others
        try:
            return first.within(seconds).call(Link.pass_on, rest, seconds)
        except DeadlockError as error:
            return ["deadlock", self.ref.path, str(error)]
        except CallTimeoutError:
            return ["timeout", self.ref.path]

    @otpy.call
    def count(self) -> int:
        return self.handled

    @otpy.call
    def defer(self) -> Any:
        """Answered by `answer`."""
        assert self.caller is not None
        self.late.append(self.caller)
        while self.curious:
            self.curious.pop().reply(None)
        return otpy.NoReply()

    @otpy.cast
    def ask_late(self, other: Any) -> None:
        """Wait for somebody who may answer at any time."""
        other.within(20.0).call(Link.defer)

    @otpy.call
    def has_deferred(self) -> Any:
        """Answered when somebody is to be answered later."""
        assert self.caller is not None
        if self.late:
            return None
        self.curious.append(self.caller)
        return otpy.NoReply()

    @otpy.cast
    def answer(self) -> None:
        while self.late:
            self.late.pop().reply(None)
