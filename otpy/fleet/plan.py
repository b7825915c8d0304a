"""What a `FleetView` goes by: frozen options, looked over when it is made."""

from __future__ import annotations

import math

from otpy.core.number import is_number
from otpy.core.text import safe_repr
from otpy.core.value import value
from otpy.errors import SpecError

__all__ = ["Plan", "Watch"]


@value(kw_only=True)
class Watch:
    """Have it told when fewer of a group are alive than should be: `Watch(label="region", below=0.8)`."""

    label: str | None = None
    """Each value of it is a group; None: the whole fleet is one."""
    below: float = 0.8
    """Told when a smaller share is alive."""
    above: float = 0.9
    """Told as recovered when so large a one is again; between the two nothing is told."""
    least: int = 3
    """Groups of fewer agents are left alone: one of two that restarts is half of them."""

    def problem(self) -> str | None:
        """What is wrong with it."""
        if self.label is not None and not (isinstance(self.label, str) and self.label):
            return f"label={safe_repr(self.label)}: a text, or None"
        if not (is_number(self.below) and is_number(self.above) and 0 < self.below <= self.above <= 1):
            return f"below={safe_repr(self.below)}, above={safe_repr(self.above)}: 0 < below <= above <= 1"
        if not (_is_count(self.least) and self.least > 0):
            return f"least={safe_repr(self.least)}: agents, 1 or more"
        return None


@value(kw_only=True)
class Plan:
    """The options of a `FleetView`, which says what they mean."""

    name: str
    period: float
    silent: float
    dead: float
    longest: float
    grace: float | None
    forget: float
    most: int
    groups: int
    storm: float
    watches: tuple[Watch, ...]

    @property
    def patience(self) -> float:
        """Seconds in which no share is judged at first."""
        return self.period * self.silent if self.grace is None else self.grace

    def check(self) -> None:
        """Raise SpecError for what cannot be used."""
        problem = self._problem()
        if problem is not None:
            raise SpecError(self.name, problem)

    def _problem(self) -> str | None:
        for word in ("period", "longest", "grace", "forget", "storm"):
            number = 1.0 if word == "grace" and self.grace is None else getattr(self, word)
            if not (is_number(number) and number > 0):
                return f"{word}={safe_repr(number)}: more than 0"
        if not (self.longest < math.inf and self.period <= self.longest):
            return f"period={self.period:g}, longest={self.longest:g}: the longest has to be as long, and finite"
        if not (is_number(self.silent) and is_number(self.dead) and 1 < self.silent < self.dead < math.inf):
            return f"silent={safe_repr(self.silent)}, dead={safe_repr(self.dead)}: 1 < silent < dead, in periods"
        for word in ("most", "groups"):
            if not (_is_count(getattr(self, word)) and getattr(self, word) > 0):
                return f"{word}={safe_repr(getattr(self, word))}: a whole number, 1 or more"
        return self._problem_of_watches()

    def _problem_of_watches(self) -> str | None:
        for each in self.watches:
            problem = each.problem() if isinstance(each, Watch) else f"{safe_repr(each)}: a Watch"
            if problem is not None:
                return f"watches: {problem}"
        labels = [each.label for each in self.watches]
        return None if len(set(labels)) == len(labels) else "watches: one for each label"


def _is_count(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)
