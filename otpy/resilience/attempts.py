"""One call with all its attempts, by tenacity: what it does after each of them, on whose clock, with whose chance.

Loaded by `otpy.resilience.retry` on first use: the one module of the house that imports tenacity. Its own waits are not
used: `wait_exponential_jitter` adds the jitter before it cuts off, so at the cap all wait equally long.
"""

from __future__ import annotations

import math
import random
import time
from typing import TYPE_CHECKING, Any

from tenacity import AsyncRetrying, Retrying

from otpy.core.backoff import delay, delay_as_asked
from otpy.resilience.cause import ATTEMPT
from otpy.resilience.errors import BreakerOpenError, RetryError
from otpy.runtime.awaited import asleep
from otpy.runtime.nap import sleep
from otpy.runtime.seat import here

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import NoReturn

    from tenacity import RetryCallState

    from otpy.resilience.errors import GaveUp
    from otpy.resilience.retrying import RetryPlan

__all__ = ["awaited", "plain"]


def plain(plan: RetryPlan, function: object, attempt: Callable[[], Any]) -> Any:
    """Make a call with as many attempts as it takes."""
    run = _Run(plan, function)

    def once() -> Any:
        token = ATTEMPT.set(run.made + 1)
        try:
            return attempt()
        finally:
            ATTEMPT.reset(token)

    return Retrying(sleep=sleep, **run.hooks())(once)


async def awaited(plan: RetryPlan, function: object, attempt: Callable[[], Awaitable[Any]]) -> Any:
    """The same, awaited."""
    run = _Run(plan, function)

    async def once() -> Any:
        token = ATTEMPT.set(run.made + 1)
        try:
            return await attempt()
        finally:
            ATTEMPT.reset(token)

    return await AsyncRetrying(sleep=asleep, **run.hooks())(once)


class _Run:
    """The decisions of one call."""

    def __init__(self, plan: RetryPlan, function: object) -> None:
        ref = here().ref
        self._plan = plan
        self._what = str(getattr(function, "__qualname__", None) or type(function).__name__)
        self._now = time.monotonic if ref is None else ref.system.clock.now
        self._draw = random.random if ref is None else ref.system.random.random
        self._begun = self._now()
        self.made = 0
        self._refused = 0
        self._failed: BaseException | None = None
        self._gave_up: GaveUp = "attempts"
        if plan.budget is not None:
            plan.budget.first(self._begun)

    def hooks(self) -> dict[str, Any]:
        """What tenacity asks, in this order: whether, how long, whether not after all, and then what to raise."""
        return {
            "retry": self._is_retried,
            "wait": self._pause,
            "stop": self._ends,
            "retry_error_callback": self._give_up,
        }

    def _is_retried(self, state: RetryCallState) -> bool:
        error = None if state.outcome is None else state.outcome.exception()
        if not isinstance(error, Exception):
            return False
        if isinstance(error, BreakerOpenError):
            self._refused += 1
            return True
        self.made += 1
        self._refused = 0
        if not self._plan.on(error):
            return False
        self._failed = error
        return True

    def _pause(self, state: RetryCallState) -> float:
        plan, error = self._plan, _error_of(state)
        asked = error.retry_after if isinstance(error, BreakerOpenError) else plan.retry_after(error)
        before = max(0, self.made + self._refused - 1)
        if asked is None or not 0 < asked < math.inf:
            return delay(plan.backoff, before, self._draw())
        return delay_as_asked(plan.backoff, before, asked, self._draw())

    def _ends(self, state: RetryCallState) -> bool:
        plan, error = self._plan, _error_of(state)
        now = self._now()
        is_late = plan.deadline is not None and now + state.upcoming_sleep > self._begun + plan.deadline
        if isinstance(error, BreakerOpenError):
            return is_late or plan.deadline is None or error.retry_after is None
        if plan.attempts is not None and self.made >= plan.attempts:
            self._gave_up = "attempts"
        elif is_late:
            self._gave_up = "deadline"
        elif plan.budget is not None and not plan.budget.take(now):
            self._gave_up = "budget"
        else:
            return False
        return True

    def _give_up(self, state: RetryCallState) -> NoReturn:
        error = _error_of(state)
        if not isinstance(error, BreakerOpenError):
            raise RetryError(self._what, self.made, self._gave_up, error) from error
        if self._failed is None:
            raise error
        error.add_note(f"{self._what} had failed before; attempts: {self.made}")
        raise error from self._failed


def _error_of(state: RetryCallState) -> BaseException:
    error = None if state.outcome is None else state.outcome.exception()
    assert error is not None  # noqa: S101 - only failures are tried again
    return error
