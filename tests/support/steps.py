"""How a test says once what actors of all places do: by deeds, functions or generators that yield what they wait for.

A deed stands in a module and goes by name (`module:function`), so that it can be carried into a process and out of it.
Where handlers are plain functions a `Step` blocks, where they are coroutine functions it is awaited; deeds do not know.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from types import GeneratorType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

__all__ = ["Deed", "Step", "aplay", "begin", "by_name", "named", "play"]

Deed = "Callable[..., Any]"


@dataclass(frozen=True, slots=True)
class Step:
    """Something to wait for, in both ways."""

    block: Callable[[], Any]
    wait: Callable[[], Awaitable[Any]]


def named(value: Any) -> Any:
    """What can be carried in the place of a deed; all else is left as it is."""
    is_function = hasattr(value, "__qualname__") and not isinstance(value, type)
    return f"{value.__module__}:{value.__qualname__}" if is_function else value


def by_name(deed: str) -> Callable[..., Any]:
    """The deed that goes by this name."""
    module, _, name = deed.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found


def begin(actor: Any, deed: str, args: tuple[Any, ...]) -> Any:
    """A deed of an actor: what it returns, or the generator to be played."""
    return by_name(deed)(actor, *args)


def play(actor: Any, deed: str, args: tuple[Any, ...]) -> Any:
    """Do a deed on a thread that may block."""
    made = begin(actor, deed, args)
    if not isinstance(made, GeneratorType):
        return made
    send: Any = made.send
    value: Any = None
    try:
        while True:
            step = send(value)
            try:
                send, value = made.send, step.block()
            except BaseException as error:
                send, value = made.throw, error
    except StopIteration as done:
        return done.value


async def aplay(actor: Any, deed: str, args: tuple[Any, ...]) -> Any:
    """Do a deed in a task."""
    made: Generator[Step, Any, Any] | Any = begin(actor, deed, args)
    if not isinstance(made, GeneratorType):
        return made
    send: Any = made.send
    value: Any = None
    while True:
        try:
            step = send(value)
        except StopIteration as done:
            return done.value
        try:
            send, value = made.send, await step.wait()
        except BaseException as error:
            send, value = made.throw, error
