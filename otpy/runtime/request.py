"""`@call` and `@cast`: methods that are an actor's public vocabulary, named by callers as `Class.method`.

At run time a decorated method is the plain function it was, marked: looking it up on its class is then as fast as
Python can be, and inside the actor it is just a method. `Call` and `Cast` exist for the type checker.
"""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, ParamSpec, TypeVar, overload
from typing import cast as typed

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.core.decision import NoReply, Reply, Stop

__all__ = ["Call", "Cast", "call", "cast", "request_name", "vocabulary"]

S_contra = TypeVar("S_contra", contravariant=True)
P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)

MARK = "otpy_request"


class Call(Generic[S_contra, P, R_co]):
    """A request with a reply, named in `ref.call(Class.method, …)`."""

    @overload
    def __get__(self, instance: None, owner: type[S_contra]) -> Call[S_contra, P, R_co]: ...
    @overload
    def __get__(self, instance: S_contra, owner: type[S_contra]) -> Callable[P, R_co]: ...
    def __get__(self, instance: S_contra | None, owner: type[S_contra]) -> Any:  # Any: the overloads say which
        """For the checker only."""


class Cast(Generic[S_contra, P, R_co]):
    """A request without a reply, named in `ref.cast(Class.method, …)`."""

    @overload
    def __get__(self, instance: None, owner: type[S_contra]) -> Cast[S_contra, P, R_co]: ...
    @overload
    def __get__(self, instance: S_contra, owner: type[S_contra]) -> Callable[P, R_co]: ...
    def __get__(self, instance: S_contra | None, owner: type[S_contra]) -> Any:  # Any: the overloads say which
        """For the checker only."""


def call(function: Callable[Concatenate[S_contra, P], R_co | Reply | NoReply | Stop]) -> Call[S_contra, P, R_co]:
    """Make a method a request with a reply: its return value, or what a `Reply` or `NoReply` decides.

    It runs in the actor's turn. OTP: handle_call/3 with one clause per request.
    """
    _refuse_async(function)
    setattr(function, MARK, "call")
    return typed("Call[S_contra, P, R_co]", function)


def cast(function: Callable[Concatenate[S_contra, P], R_co]) -> Cast[S_contra, P, R_co]:
    """Make a method a request without a reply; it returns None or a decision. OTP: handle_cast/2."""
    _refuse_async(function)
    setattr(function, MARK, "cast")
    return typed("Cast[S_contra, P, R_co]", function)


def _refuse_async(function: Callable[..., object]) -> None:
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        name = request_name(function)
        text = f"{name} is async: handlers are plain functions; a coroutine function can be a child of its own"
        raise TypeError(text)


def vocabulary(cls: type, kind: Literal["call", "cast"]) -> dict[object, tuple[Callable[..., Any]]]:
    """Which function of a class serves which request; a subclass's method serves the requests of its base.

    The function stands in a tuple, the head of all messages with this request.
    """
    served: dict[object, tuple[Callable[..., Any]]] = {}
    for base in cls.__mro__:
        for name, attribute in vars(base).items():
            if isinstance(attribute, FunctionType) and getattr(attribute, MARK, None) == kind:
                _refuse_taken(cls, base, name)
                own = next(vars(c)[name] for c in cls.__mro__ if name in vars(c))
                served[attribute] = (own,)
    return served


def _refuse_taken(cls: type, base: type, name: str) -> None:
    """A request must not take the place of a method that otpy itself calls or offers. Raises TypeError."""
    if base.__module__.startswith("otpy."):
        return
    for above in base.__mro__[1:]:
        own = vars(above).get(name)
        if own is not None and not hasattr(own, MARK) and above.__module__.startswith(("otpy.", "pykka.")):
            text = f"{cls.__name__}.{name} cannot be a request: {above.__name__} has a {name!r} of its own"
            raise TypeError(text)


def request_name(request: object) -> str:
    """A request as text, as `Cache.get`."""
    return ".".join(str(getattr(request, "__qualname__", request)).split(".")[-2:])
