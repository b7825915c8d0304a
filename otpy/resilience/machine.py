"""A circuit breaker's states and what leads from one to another. Pure: no thread, no clock read, no chance drawn.

The law, after gobreaker (generations: the report of a call from another phase is ignored) and resilience4j (a probe
has a deadline): a failed probe always opens it again, whatever the counts say; a success does not clear the window;
nothing but a report, a deadline or an order changes anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from otpy.resilience.rules import cooldown
from otpy.resilience.snapshot import EXCLUDED, FAILED, OK, SLOW
from otpy.resilience.window import Window

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.resilience.rules import Rules
    from otpy.resilience.snapshot import Outcome, State

    Draw = Callable[[], float]

__all__ = ["Change", "Machine"]


@dataclass(frozen=True, slots=True)
class Change:
    """One step from a state to another."""

    before: State
    after: State
    generation: int
    """That of the state it is in now."""
    why: str
    """What led to it, in words."""


class Machine:
    """Where one breaker stands. Only its actor holds it."""

    def __init__(self, rules: Rules, generation: int = 1) -> None:
        """Begin closed."""
        self.rules = rules
        self.state: State = "closed"
        self.generation = generation
        self.until = 0.0
        self.reopens = 0
        """Cool-downs in a row that ended in a failed probe."""
        self.in_a_row = 0
        """Failures since the last success."""
        self.successes = 0
        """Probes of this phase that succeeded."""
        self.window = Window(rules.window, kinds=3)

    def report(self, generation: int, outcome: Outcome, now: float, draw: Draw) -> Change | None:
        """Take note of what became of a call.

        Args:
            generation: that of its permit; the taking of a probe is noted before, by `probe`.
            outcome: what became of it.
            now: when it ended.
            draw: gives a number from [0, 1); asked only when it opens.
        """
        if generation != self.generation or outcome == EXCLUDED:
            return None
        if self.state == "closed":
            return self._count(outcome, now, draw)
        if self.state == "half_open":
            return self._probed(outcome, now, draw)
        return None

    def probe(self) -> Change:
        """Somebody has taken a permit of the phase that follows: an open one is half open from then on."""
        return self._to("half_open", "the first probe is on its way", step=1)

    def expire(self, why: str, now: float, draw: Draw) -> Change:
        """A probe will never report, or not in time: it has failed."""
        return self._open(why, now, draw)

    def force(self, state: Literal["open", "closed"]) -> Change:
        """Stay so, whatever is reported, until `reset`."""
        return self._to("forced_open" if state == "open" else "forced_closed", "it was told to")

    def reset(self) -> Change:
        """Be closed, as in the beginning."""
        return self._close("it was told to")

    def _count(self, outcome: Outcome, now: float, draw: Draw) -> Change | None:
        self.window.add(now, outcome)
        if outcome == OK:
            self.in_a_row = 0
            return None
        self.in_a_row = self.in_a_row + 1 if outcome == FAILED else 0
        why = self._trips()
        return None if why is None else self._open(why, now, draw)

    def _trips(self) -> str | None:
        """Why it opens now, if it does."""
        rules = self.rules
        if rules.failures is not None and self.in_a_row >= rules.failures:
            return "a call failed" if self.in_a_row == 1 else f"{self.in_a_row} failures in a row"
        totals = self.window.totals
        calls = sum(totals)
        if calls < rules.min_calls:
            return None
        if rules.rate is not None and totals[FAILED] >= rules.rate * calls:
            return f"{totals[FAILED]} of {calls} calls failed within {rules.window:g} s"
        if rules.slow is not None and totals[SLOW] >= rules.slow_rate * calls:
            return f"{totals[SLOW]} of {calls} calls within {rules.window:g} s took {rules.slow:g} s or more"
        return None

    def _probed(self, outcome: Outcome, now: float, draw: Draw) -> Change | None:
        if outcome != OK:
            return self._open("a probe failed" if outcome == FAILED else "a probe was slow", now, draw)
        self.successes += 1
        if self.successes < self.rules.successes:
            return None
        return self._close("a probe succeeded" if self.successes == 1 else f"{self.successes} probes succeeded")

    def _open(self, why: str, now: float, draw: Draw) -> Change:
        self.reopens = self.reopens + 1 if self.state == "half_open" else 0
        self.until = now + cooldown(self.rules, self.reopens, draw())
        return self._to("open", why)

    def _close(self, why: str) -> Change:
        self.reopens = 0
        return self._to("closed", why)

    def _to(self, state: State, why: str, step: int = 2) -> Change:
        """Enter a state. The number after an open one's own is kept for the half open one: its probes bear it already.

        So all others are two further, and a probe of a cool-down that was cut short never counts for what came instead.
        """
        before = self.state
        self.state = state
        self.generation += step
        self.successes = self.in_a_row = 0
        self.window.clear()
        return Change(before, state, self.generation, why)
