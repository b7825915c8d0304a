"""The options of one outbox, looked over."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, get_args

from otpy.core.backoff import Backoff
from otpy.core.number import is_number
from otpy.core.text import safe_repr
from otpy.core.value import value
from otpy.disk.sqlite import Profile
from otpy.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otpy.resilience.outbox.sender import Way
    from otpy.resilience.outbox.topic import Topic

__all__ = ["Damaged", "Plan"]

Damaged = Literal["refuse", "set_aside"]


@value(kw_only=True)
class Plan:
    """As `Outbox` was given them."""

    name: str
    path: str
    ways: tuple[Way, ...]
    topics: Mapping[str, Topic]
    agent: str
    batch: int
    batch_bytes: int
    backoff: Backoff
    ramp: float
    profile: Profile
    damaged: Damaged

    def __post_init__(self) -> None:
        """Refuse what cannot be. Raises SpecError."""
        problem = self._problem()
        if problem is not None:
            raise SpecError(safe_repr(self.name) if not isinstance(self.name, str) else self.name, problem)

    def _problem(self) -> str | None:
        if not isinstance(self.name, str) or not self.name or "/" in self.name:
            return f"name={safe_repr(self.name)}: a text without '/'"
        return self._sizes() or self._words() or self.backoff.problem()

    def _sizes(self) -> str | None:
        for word in ("batch", "batch_bytes"):
            number = getattr(self, word)
            if type(number) is not int or number < 1:
                return f"{word}={safe_repr(number)}: a whole number > 0"
        if not (is_number(self.ramp) and 0 <= self.ramp < math.inf):
            return f"ramp={safe_repr(self.ramp)}: seconds, 0 for none"
        return None

    def _words(self) -> str | None:
        if not isinstance(self.agent, str) or not self.agent:
            return f"agent={safe_repr(self.agent)}: a text, another one for each agent of a receiver"
        if not isinstance(self.backoff, Backoff):
            return f"backoff={safe_repr(self.backoff)}: an otpy.Backoff"
        for word, known in (("profile", get_args(Profile)), ("damaged", get_args(Damaged))):
            if getattr(self, word) not in known:
                return f"{word}={safe_repr(getattr(self, word))}: one of {', '.join(known)}"
        return None
