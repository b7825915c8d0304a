"""Retry budgets: a program whose service is down may not multiply its own load on it.

After Finagle's (https://twitter.github.io/finagle/guide/Clients.html#retry-budget): so many retries as a part of the
first attempts allow, and a few at any rate.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass

from otpy.core.number import is_number
from otpy.core.text import safe_repr
from otpy.errors import SpecError
from otpy.resilience.window import Window

__all__ = ["BudgetRules", "RetryBudget", "RetryLedger"]

FIRST = 0
RETRY = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRules:
    """How many retries there may be."""

    ratio: float = 0.2
    """For each first attempt in the window, so many."""
    window: float = 60.0
    """Seconds."""
    minimum: float = 10.0
    """And so many in a second at any rate, for a program that does little."""

    def problem(self) -> str | None:
        """Why they cannot be used, and the mend; None when they can."""
        for word in ("ratio", "minimum"):
            value = getattr(self, word)
            if not (is_number(value) and 0 <= value < math.inf):
                return f"{word}={safe_repr(value)}: a number >= 0"
        if not (is_number(self.window) and 0 < self.window < math.inf):
            return f"window={safe_repr(self.window)}: seconds > 0"
        return None


class RetryLedger:
    """What was attempted and retried. No thread, and no clock of its own."""

    __slots__ = ("_rules", "_since", "_spare", "_window")

    def __init__(self, rules: BudgetRules, now: float = 0.0) -> None:
        """Begin with what there is at any rate."""
        self._rules = rules
        self._window = Window(rules.window, kinds=2)
        self._spare = self._most_spare()
        self._since = now

    def first(self, now: float) -> None:
        """Note a first attempt."""
        self._window.add(now, FIRST)

    def take(self, now: float) -> bool:
        """Whether there may be one more retry; it is noted then."""
        self._window.age(now)
        if now > self._since:
            self._spare = min(self._most_spare(), self._spare + self._rules.minimum * (now - self._since))
            self._since = now
        firsts, retries = self._window.totals
        if retries + 1 > self._rules.ratio * firsts:
            if self._spare < 1:
                return False
            self._spare -= 1
        self._window.add(now, RETRY)
        return True

    def _most_spare(self) -> float:
        return max(1.0, self._rules.minimum) if self._rules.minimum else 0.0


class RetryBudget:
    """How many retries all calls that share it may make: `retry(…, budget=BUDGET)`. For any thread and task.

    Args:
        ratio: retries there may be for each first attempt in the window.
        window: seconds.
        minimum: retries in a second that there may be at any rate.

    Raises:
        SpecError: they cannot be used; the message says why.
    """

    def __init__(self, *, ratio: float = 0.2, window: float = 60.0, minimum: float = 10.0) -> None:
        """Make one; nothing is used up."""
        self.rules = BudgetRules(ratio=ratio, window=window, minimum=minimum)
        problem = self.rules.problem()
        if problem is not None:
            raise SpecError("RetryBudget", problem)
        self._lock = threading.RLock()  # guards the ledger; RLock: a signal handler may retry in the middle of it
        self._ledger = RetryLedger(self.rules)

    def first(self, now: float) -> None:
        """Note a first attempt, at this time (seconds, of whatever clock all its users go by)."""
        with self._lock:
            self._ledger.first(now)

    def take(self, now: float) -> bool:
        """Whether there may be one more retry; it is noted then."""
        with self._lock:
            return self._ledger.take(now)
