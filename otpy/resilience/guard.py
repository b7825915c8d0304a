"""Functions whose calls go through a breaker, plain ones and coroutine functions; an exception passes unchanged."""

from __future__ import annotations

import functools
import inspect
from types import CoroutineType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from otpy.resilience.breaker import Breaker

__all__ = ["guarded", "is_async"]

P = ParamSpec("P")
R = TypeVar("R")


def guarded(breaker: Breaker, function: Callable[P, R]) -> Callable[P, R]:
    """The same function, through the breaker."""
    if not callable(function):
        text = f"a breaker guards a function, got {type(function).__name__}"
        raise TypeError(text)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        text = f"{function.__qualname__} is a generator: its call does nothing yet; use `with` the breaker inside of it"
        raise TypeError(text)
    return _async(breaker, function) if is_async(function) else _plain(breaker, function)


def is_async(function: object) -> bool:
    """Whether calling it gives a coroutine, as far as can be told."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _plain(breaker: Breaker, function: Callable[..., Any]) -> Callable[..., Any]:
    enter, leave, timed = breaker.enter, breaker.leave, breaker.is_timed

    @functools.wraps(function)
    def guard(*args: Any, **kwargs: Any) -> Any:
        ticket = enter()
        begun = breaker.now() if timed else 0.0
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            leave(ticket, begun, error)
            raise
        if result.__class__ is CoroutineType:  # a plain function that returns one: the call is what is awaited
            return _awaited(breaker, ticket, begun, result)
        leave(ticket, begun, None)
        return result

    return guard


def _async(breaker: Breaker, function: Callable[..., Any]) -> Callable[..., Any]:
    timed = breaker.is_timed

    @functools.wraps(function)
    async def guard(*args: Any, **kwargs: Any) -> Any:
        ticket = breaker.enter()
        return await _awaited(breaker, ticket, breaker.now() if timed else 0.0, function(*args, **kwargs))

    return guard


async def _awaited(breaker: Breaker, ticket: Any, begun: float, work: Coroutine[Any, Any, Any]) -> Any:
    try:
        result = await work
    except BaseException as error:
        breaker.leave(ticket, begun, error)
        raise
    breaker.leave(ticket, begun, None)
    return result
