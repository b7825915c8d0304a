"""When a breaker opens, and how it finds out whether it may close again."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TypedDict

from otpy.core.number import is_number
from otpy.core.suggest import did_you_mean
from otpy.core.text import safe_repr
from otpy.errors import SpecError, UnknownOptionError

__all__ = ["RuleWords", "Rules", "cooldown", "rules_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The options of one breaker, with their defaults."""

    failures: int | None = 5
    """It opens after so many failures in a row; None: never for that."""
    rate: float | None = 0.5
    """It opens when this part of the calls in the window has failed, or more; None: never for that."""
    min_calls: int = 20
    """Calls that must be in the window before `rate` and `slow_rate` mean anything."""
    window: float = 60.0
    """Seconds a call counts for."""
    slow: float | None = None
    """A call that took so many seconds or more is slow; None: none is."""
    slow_rate: float = 0.5
    """It opens when this part of the calls in the window was slow, or more. A slow probe counts as failed."""
    cooldown: float = 30.0
    """Seconds it stays open; twice as long after each probe that failed."""
    longest: float = 600.0
    """Seconds no cool-down is longer than, before up to a tenth is added by chance."""
    probes: int = 1
    """Calls that are let through after a cool-down to find out."""
    successes: int = 1
    """Of them, so many must succeed before it closes."""
    probe_timeout: float = 30.0
    """Seconds after which a probe that has not reported counts as failed."""

    def problem(self) -> str | None:
        """Why they cannot be used, and the mend; None when they can."""
        return self._numbers() or self._counts()

    def _numbers(self) -> str | None:
        for word in ("window", "cooldown", "longest", "probe_timeout"):
            value = getattr(self, word)
            if not (is_number(value) and 0 < value < math.inf):
                return f"{word}={safe_repr(value)}: seconds > 0"
        if self.slow is not None and not (is_number(self.slow) and self.slow > 0):
            return f"slow={safe_repr(self.slow)}: seconds > 0, or None"
        for word in ("rate", "slow_rate"):
            value = getattr(self, word)
            if not (value is None and word == "rate") and not (is_number(value) and 0 < value <= 1):
                return f"{word}={safe_repr(value)}: above 0 and up to 1"
        if self.cooldown > self.longest:
            return f"cooldown={self.cooldown!r}, longest={self.longest!r}: the first is not above the second"
        return None

    def _counts(self) -> str | None:
        for word in ("failures", "min_calls", "probes", "successes"):
            value = getattr(self, word)
            if not (value is None and word == "failures") and not (type(value) is int and value > 0):
                return f"{word}={safe_repr(value)}: a whole number > 0"
        if self.successes > self.probes:
            return f"successes={self.successes}, probes={self.probes}: it lets so few through that it would never close"
        if self.failures is None and self.rate is None and self.slow is None:
            return "failures=None, rate=None: it would never open"
        return None


class RuleWords(TypedDict, total=False):
    """The fields of `Rules`, for the type checker."""

    failures: int | None
    rate: float | None
    min_calls: int
    window: float
    slow: float | None
    slow_rate: float
    cooldown: float
    longest: float
    probes: int
    successes: int
    probe_timeout: float


def rules_of(name: str, words: RuleWords) -> Rules:
    """The rules of a breaker from its options. Raises SpecError, UnknownOptionError."""
    known = [field.name for field in fields(Rules)]
    for word in words:
        if word not in known:
            raise UnknownOptionError(name, word, did_you_mean(word, [*known, "counts", "excludes"]))
    rules = Rules(**words)
    problem = rules.problem()
    if problem is not None:
        raise SpecError(name, problem)
    return rules


def cooldown(rules: Rules, reopens: int, chance: float) -> float:
    """Seconds to stay open.

    Args:
        rules: those of the breaker.
        reopens: how many probes have failed since it last was closed.
        chance: drawn from [0, 1): up to a tenth is added, so that many programs do not probe in the same moment.
    """
    full = min(rules.longest, rules.cooldown * 2.0 ** min(reopens, 64))
    return full * (1 + 0.1 * chance)
