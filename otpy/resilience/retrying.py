"""`retry`: call again what failed, after a pause, as long as there is time, attempts and budget left."""

from __future__ import annotations

import functools
import importlib
import inspect
import math
from types import CoroutineType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from otpy.core.backoff import Backoff, asked_by
from otpy.core.number import is_number
from otpy.core.text import safe_repr
from otpy.errors import SpecError
from otpy.resilience.guard import is_async
from otpy.resilience.matching import Errors, matcher

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from otpy.resilience.breaker import Breaker
    from otpy.resilience.budget import RetryBudget

__all__ = ["PAUSES", "RetryPlan", "retry"]

P = ParamSpec("P")
R = TypeVar("R")

PAUSES = Backoff(first=0.5, most=20.0)
"""Half a second, then twice as long each time, up to 20 s; with full jitter."""


class RetryPlan:
    """How calls are tried again, made by `retry`: a decorator, and `call` and `acall` for a single one."""

    def __init__(
        self,
        on: Callable[[BaseException], bool],
        attempts: int | None,
        backoff: Backoff,
        deadline: float | None,
        breaker: Breaker | None,
        budget: RetryBudget | None,
        retry_after: Callable[[BaseException], float | None],
    ) -> None:
        """Made by `retry`, which looks them over."""
        self.on = on
        self.attempts = attempts
        self.backoff = backoff
        self.deadline = deadline
        self.breaker = breaker
        self.budget = budget
        self.retry_after = retry_after
        self._run = _runner()

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Have each call of a function, or of a coroutine function, tried again.

        Raises:
            TypeError: it is a generator function, whose call does nothing yet.
        """
        if not callable(function):
            text = f"a retry is of a function, got {type(function).__name__}"
            raise TypeError(text)
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            text = (
                f"{function.__qualname__} is a generator: its call does nothing yet; retry what is called inside of it"
            )
            raise TypeError(text)
        again: Any = self._async(function) if is_async(function) else self._plain(function)  # Any: same signature
        return again  # type: ignore[no-any-return]

    def call(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call it, again and again if need be; in an actor the pauses end when the actor is told to stop.

        Raises:
            RetryError: it failed with an error that is retried, and is not tried again; from its last error.
            BreakerOpenError: the breaker is open for longer than there is time, or no `deadline` says how long to wait.
            Exception: what the function raises and `on` does not mean.
        """
        return self(function)(*args, **kwargs)

    async def acall(self, function: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """As `call`, for what is awaited."""
        return await self._async(function)(*args, **kwargs)  # type: ignore[no-any-return]

    def _plain(self, function: Callable[..., Any]) -> Callable[..., Any]:
        once = _not_awaited(function)
        attempt = once if self.breaker is None else self.breaker(once)

        @functools.wraps(function)
        def again(*args: Any, **kwargs: Any) -> Any:
            return self._run.plain(self, function, lambda: attempt(*args, **kwargs))

        return again

    def _async(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        async def once(*args: Any, **kwargs: Any) -> Any:
            return await function(*args, **kwargs)

        attempt = once if self.breaker is None else self.breaker(once)

        @functools.wraps(function)
        async def again(*args: Any, **kwargs: Any) -> Any:
            return await self._run.awaited(self, function, lambda: attempt(*args, **kwargs))

        return again


def retry(
    *,
    on: Errors,
    attempts: int | None = 5,
    backoff: Backoff = PAUSES,
    deadline: float | None = None,
    breaker: Breaker | None = None,
    budget: RetryBudget | None = None,
    retry_after: Callable[[BaseException], float | None] | None = None,
) -> RetryPlan:
    """Say how calls are tried again: `@retry(on=ConnectionError)`, or `retry(on=…).call(function, …)`.

    It needs tenacity, which comes with `otpy[jobs]`.

    Args:
        on: which errors are tried again: a class, some, or a function that is asked. What is no `Exception` never is:
            a cancellation, Ctrl-C, an actor that is told to stop.
        attempts: how often it is called at most; None: as often as the deadline allows.
        backoff: the pauses; with full jitter unless it says otherwise.
        deadline: seconds from the first attempt in which the last one must begin. A pause that would pass it is not
            made. It does not interrupt an attempt.
        breaker: one that each attempt goes through. What it refuses is no attempt.
        budget: shared by many calls; without room in it nothing is tried again.
        retry_after: tells from an error how many seconds the service wants to be left alone, or None; by default the
            error's `retry_after`, where it is a number. It is never called sooner.

    Raises:
        SpecError: they cannot be; the message says why.
        ImportError: tenacity is not there.
    """
    problem = backoff.problem() if isinstance(backoff, Backoff) else f"backoff={safe_repr(backoff)}: an otpy.Backoff"
    problem = problem or _problem(attempts, deadline)
    if problem is not None:
        raise SpecError("retry", problem)
    return RetryPlan(matcher("retry", "on", on), attempts, backoff, deadline, breaker, budget, retry_after or asked_by)


def _problem(attempts: object, deadline: object) -> str | None:
    if attempts is not None and not (type(attempts) is int and attempts > 0):
        return f"attempts={safe_repr(attempts)}: a whole number > 0, or None"
    if deadline is not None and not (is_number(deadline) and 0 < deadline < math.inf):
        return f"deadline={safe_repr(deadline)}: seconds > 0, or None"
    if attempts is None and deadline is None:
        return "attempts=None, deadline=None: it would never end"
    return None


def _not_awaited(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function; a coroutine from it would fail where nobody tries again."""

    def once(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if result.__class__ is CoroutineType:
            result.close()
            text = (
                f"{getattr(function, '__qualname__', function)} returns a coroutine: declare it `async`, or use acall"
            )
            raise TypeError(text)
        return result

    return once


def _runner() -> Any:  # Any: a module, loaded when there is a use for it
    try:
        return importlib.import_module("otpy.resilience.attempts")
    except ModuleNotFoundError as error:
        text = "otpy.resilience.retry needs tenacity: install otpy[jobs]"
        raise ImportError(text, name=error.name) from error
