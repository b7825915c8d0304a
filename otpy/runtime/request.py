"""`@call` and `@cast`: methods that are an actor's public vocabulary, named by callers as `Class.method`.

At run time a decorated method is the plain function it was, marked: looking it up on its class is then as fast as
Python can be, and inside the actor it is just a method. `Call` and `Cast` exist for the type checker.
"""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload
from typing import cast as typed

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from otpy.core.decision import NoReply, Reply, Stop

    Served = dict[object, tuple[Callable[..., Any]]]

__all__ = ["Call", "Cast", "async_callback", "call", "cast", "request_name", "vocabulary"]

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


class AsyncCall(Call[S_contra, P, R_co]):
    """The same, served by a coroutine function: inside its actor it is awaited."""

    @overload  # type: ignore[override]  # for an instance alone it is another method
    def __get__(self, instance: None, owner: type[S_contra]) -> AsyncCall[S_contra, P, R_co]: ...
    @overload
    def __get__(self, instance: S_contra, owner: type[S_contra]) -> Callable[P, Coroutine[Any, Any, R_co]]: ...
    def __get__(self, instance: S_contra | None, owner: type[S_contra]) -> Any:  # Any: the overloads say which
        """For the checker only."""


class AsyncCast(Cast[S_contra, P, R_co]):
    """As `AsyncCall`."""

    @overload  # type: ignore[override]  # as above
    def __get__(self, instance: None, owner: type[S_contra]) -> AsyncCast[S_contra, P, R_co]: ...
    @overload
    def __get__(self, instance: S_contra, owner: type[S_contra]) -> Callable[P, Coroutine[Any, Any, R_co]]: ...
    def __get__(self, instance: S_contra | None, owner: type[S_contra]) -> Any:  # Any: the overloads say which
        """For the checker only."""


@overload
def call(
    function: Callable[Concatenate[S_contra, P], Coroutine[Any, Any, R_co | Reply | NoReply | Stop]],
) -> AsyncCall[S_contra, P, R_co]: ...
@overload
def call(function: Callable[Concatenate[S_contra, P], R_co | Reply | NoReply | Stop]) -> Call[S_contra, P, R_co]: ...
def call(function: Callable[..., Any]) -> Call[Any, Any, Any]:
    """Make a method a request with a reply: its return value, or what a `Reply` or `NoReply` decides.

    It runs in the actor's turn, and may be a coroutine function. OTP: handle_call/3 with one clause per request.
    """
    _refuse_generators(function)
    setattr(function, MARK, "call")
    return typed("Call[Any, Any, Any]", function)


@overload
def cast(function: Callable[Concatenate[S_contra, P], Coroutine[Any, Any, R_co]]) -> AsyncCast[S_contra, P, R_co]: ...
@overload
def cast(function: Callable[Concatenate[S_contra, P], R_co]) -> Cast[S_contra, P, R_co]: ...
def cast(function: Callable[..., Any]) -> Cast[Any, Any, Any]:
    """Make a method, which may be a coroutine function, a request without a reply; it returns None or a decision.

    OTP: handle_cast/2.
    """
    _refuse_generators(function)
    setattr(function, MARK, "cast")
    return typed("Cast[Any, Any, Any]", function)


def _refuse_generators(function: Callable[..., object]) -> None:
    if inspect.isasyncgenfunction(function):
        text = f"{request_name(function)} yields: a handler is a function or a coroutine function, and returns"
        raise TypeError(text)


CALLBACKS = (
    *("init", "handle_call", "handle_info", "handle_continue", "handle_timeout", "terminate"),
    *("handle_drain", "persist", "handle_flush"),
)
"""What may be a coroutine function, beside requests."""

PLAIN = ("on_start", "on_receive", "on_stop", "on_failure", "redact", "children")
"""What may not."""


def async_callback(cls: Any) -> str | None:  # Any: an actor class
    """A callback of an actor class that is a coroutine function. Raises TypeError where there may be none."""
    plain = CALLBACKS + PLAIN if cls.is_supervisor else PLAIN
    for name in plain:
        if inspect.iscoroutinefunction(getattr(cls, name, None)):
            mend = "a supervisor's callbacks are plain functions" if cls.is_supervisor else "use otpy.GenServer's"
            text = f"{cls.__name__}.{name} is a coroutine function and may not be: {mend}"
            raise TypeError(text)
    requests = [own.__name__ for table in (cls.otpy_calls, cls.otpy_casts) for (own,) in table.values()]
    found = (name for name in (*CALLBACKS, *requests) if inspect.iscoroutinefunction(getattr(cls, name, None)))
    return next(found, None)


def vocabulary(cls: type) -> tuple[Served, Served]:
    """Which function of a class serves which call, and which cast; a subclass's method serves those of its base.

    The function stands in a tuple, the head of all messages with this request.
    """
    served: dict[object, Served] = {"call": {}, "cast": {}}
    for base in cls.__mro__:
        for name, attribute in vars(base).items():
            kind = getattr(attribute, MARK, None) if type(attribute) is FunctionType else None
            if kind is not None:
                _refuse_taken(cls, base, name)
                own = next(vars(c)[name] for c in cls.__mro__ if name in vars(c))
                served[kind][attribute] = (own,)
    return served["call"], served["cast"]


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
