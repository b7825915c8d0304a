"""`@job`: a function that can be done later, again, and by somebody else."""

from __future__ import annotations

import inspect
import pickle
import sys
from functools import update_wrapper
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypedDict, TypeVar, Unpack, get_args, overload

from otpy.core.text import safe_repr
from otpy.errors import SpecError
from otpy.jobs.args import encode
from otpy.jobs.declared import is_seconds, is_text
from otpy.jobs.errors import ArgumentsError
from otpy.jobs.labels import label_problem, written
from otpy.jobs.model.new import ALL_REPLACED, Conflict, Replaced, Unique, Until
from otpy.jobs.retry import Retry
from otpy.jobs.spec import JobSpec, check_words

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from otpy.resilience.breaker import Breaker

__all__ = ["Kind", "KindOptions", "job"]

P = ParamSpec("P")
R = TypeVar("R")

TIMEOUT = 30.0
"""Seconds for one attempt unless a kind says otherwise: one that hangs must not keep its agent for ever."""

OF_UNIQUE = ("until", "on_conflict", "max_wait", "replaces")
"""Options that say more of `unique`."""
REPLACING: tuple[Conflict, ...] = ("replace", "debounce")
"""What changes a job that waits."""


class KindOptions(TypedDict, total=False):
    """What `@job` takes."""

    name: str
    queue: str
    retry: Retry
    timeout: float | None
    stall_timeout: float | None
    start_within: float | None
    needs: Collection[str]
    unique: Callable[..., str] | None
    until: Until | float
    on_conflict: Conflict
    replaces: Collection[Replaced]
    max_wait: float
    killable: bool
    early_ack: bool
    breakers: Collection[Breaker]
    limit: int | None
    tenant: Callable[..., str] | None


class Kind(Generic[P, R]):
    """A function that can be a job; called, it is just that function."""

    def __init__(self, function: Callable[P, R], **options: Unpack[KindOptions]) -> None:
        """Made by `@job`, which says what the options mean."""
        if not callable(function):
            raise SpecError("job", f"{safe_repr(function)}: a function, or a coroutine function")
        update_wrapper(self, function)
        self.function = function
        self._options = options
        self.signature = _signature_of(function)
        self.name = options.get("name") or _name_of(function)
        self.queue = options.get("queue", "default")
        self.retry = options.get("retry", Retry())
        self.timeout = options.get("timeout", TIMEOUT)
        self.stall_timeout = options.get("stall_timeout")
        self.start_within = options.get("start_within")
        self.unique = options.get("unique")
        self.on_conflict: Conflict = options.get("on_conflict", "keep")
        self.until = options.get("until", "started" if self.on_conflict == "debounce" else "finished")
        self.killable = options.get("killable", False)
        self.early_ack = options.get("early_ack", False)
        self.limit = options.get("limit")
        self.tenant = options.get("tenant")
        self.is_async = inspect.iscoroutinefunction(function)
        self._check()
        self.needs = written(options.get("needs", ()))
        self.breakers = tuple(options.get("breakers", ()))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Just call it, here and now."""
        return self.function(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        """By its name, as functions are: the process that loads it runs the same code. Raises PicklingError."""
        module, name = self.function.__module__, self.function.__qualname__
        found = _found(module, name)
        if found is self:
            return _loaded, (module, name)
        if found is self.function:
            return _made, (self.function, self._options)
        text = (
            f"{self.name} runs in no process: it has to be at the top of a module, and is not found as {module}.{name}"
        )
        raise pickle.PicklingError(text)

    def __repr__(self) -> str:
        """Its name."""
        return f"<Kind {self.name}>"

    def new(self, *args: P.args, **kwargs: P.kwargs) -> JobSpec[R]:
        """A job that calls it with these arguments.

        Raises:
            TypeError: they are not what it takes.
            ArgumentsError: one of them cannot be carried.
        """
        bound = self._bound(args, kwargs)
        try:
            data = encode(args, kwargs)
        except ArgumentsError as error:
            raise ArgumentsError(error.problem, self.name) from None
        unique = None if self.unique is None else self._unique(str(self.unique(*bound.args, **bound.kwargs)))
        tenant = "" if self.tenant is None else str(self.tenant(*bound.args, **bound.kwargs))
        return JobSpec(self, data, self.queue, tenant=tenant, unique=unique, start_within=self.start_within)

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        try:
            return self.signature.bind(*args, **kwargs)
        except TypeError as error:
            text = f"{self.name}: {error}"
            raise TypeError(text) from None

    def _unique(self, key: str) -> Unique:
        until = self.until
        return Unique(
            key=f"{self.name}:{key}",
            until=until if isinstance(until, str) else "period",
            on_conflict=self.on_conflict,
            period_ms=0 if isinstance(until, str) else round(until * 1_000),
            max_wait_ms=round(self._options.get("max_wait", 0.0) * 1_000),
            replaces=tuple(self._options.get("replaces", ALL_REPLACED)),
        )

    def _check(self) -> None:
        """Refuse what cannot work, where it is declared. Raises SpecError."""
        check_words(self.name, self._options, KindOptions)
        for problem in self._problems():
            raise SpecError(self.name, problem)

    def _problems(self) -> Iterator[str]:
        if inspect.isgeneratorfunction(self.function) or inspect.isasyncgenfunction(self.function):
            yield "it is a generator: nothing of it would run; a function that returns a list, or None"
        if not is_text(self.name):
            yield f"name={safe_repr(self.name)}: a text"
        if not is_text(self.queue):
            yield f"queue={safe_repr(self.queue)}: a text"
        problem = self.retry.problem() if isinstance(self.retry, Retry) else f"retry={self.retry!r}: a jobs.Retry"
        problem = problem or label_problem("needs", self._options.get("needs", ()))
        if problem is not None:
            yield problem
        if not isinstance(self._options.get("breakers", ()), set | frozenset | tuple | list):
            yield f"breakers={safe_repr(self._options['breakers'])}: a tuple of them"
        yield from self._key_problems()
        if self.early_ack and "retry" in self._options:
            yield "early_ack=True: its end is written before it runs, so it is never tried again: leave retry= out"
        yield from self._number_problems()
        yield from self._idle_problems()

    def _idle_problems(self) -> Iterator[str]:
        """Options that mean nothing without another one: who writes them believes that they do something."""
        for name in OF_UNIQUE:
            if self.unique is None and name in self._options:
                yield f"{name}= says what becomes of a unique key, and there is none: give unique=, or leave it out"
        if "replaces" in self._options and self.on_conflict not in REPLACING:
            yield f"replaces= goes with on_conflict={' or '.join(map(repr, REPLACING))}: nothing else changes a job"

    def _key_problems(self) -> Iterator[str]:
        for name in ("unique", "tenant"):
            value = getattr(self, name)
            if value is not None and not callable(value):
                yield f"{name}={safe_repr(value)}: a function of its arguments, or None"
        if self.until not in get_args(Until) and not is_seconds(self.until):
            yield f"until={safe_repr(self.until)}: {', '.join(get_args(Until))}, or seconds > 0"
        if self.on_conflict not in get_args(Conflict):
            yield f"on_conflict={safe_repr(self.on_conflict)}: {', '.join(get_args(Conflict))}"
        yield from self._debounce_problems()

    def _debounce_problems(self) -> Iterator[str]:
        is_put_off, most = self.on_conflict == "debounce", self._options.get("max_wait")
        if is_put_off and self.until != "started":
            why = "on_conflict='debounce' goes with started, or what comes while one runs is lost"
            yield f"until={safe_repr(self.until)}: {why}"
        if is_put_off != (most is not None):
            yield "on_conflict='debounce' and max_wait=, seconds after which it is put off no longer, go together"
        if most is not None and not is_seconds(most):
            yield f"max_wait={safe_repr(most)}: seconds > 0"
        replaces = self._options.get("replaces", ())
        if not isinstance(replaces, set | frozenset | tuple | list) or not set(replaces) <= set(ALL_REPLACED):
            yield f"replaces={safe_repr(replaces)}: some of {', '.join(ALL_REPLACED)}"

    def _number_problems(self) -> Iterator[str]:
        for name in ("timeout", "stall_timeout", "start_within"):
            value = getattr(self, name)
            if value is not None and not is_seconds(value):
                yield f"{name}={safe_repr(value)}: seconds > 0, or None"
        if self.limit is not None and (type(self.limit) is not int or self.limit < 1):
            yield f"limit={safe_repr(self.limit)}: a whole number >= 1, or None"


def _signature_of(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except ValueError as error:  # some of C have none
        raise SpecError("job", f"{safe_repr(function)}: {error}; put it into a function of your own") from None


def _name_of(function: Callable[..., Any]) -> str:
    """Where it is found; that of a program's main file is the file's own, however the program was started."""
    if not hasattr(function, "__qualname__"):
        raise SpecError("job", f"{safe_repr(function)} has no name: give one, as in @jobs.job(name=…)")
    module = function.__module__
    if module in ("__main__", "__mp_main__"):
        module = Path(getattr(sys.modules[module], "__file__", None) or module).stem
    return f"{module}.{function.__qualname__}"


def _found(module: str, name: str) -> Any:  # Any: whatever is there, or None
    """What stands there."""
    try:
        return attrgetter(name)(import_module(module))
    except (ImportError, AttributeError):
        return None


def _loaded(module: str, name: str) -> Kind[..., Any]:
    """A kind in another process. Raises UnpicklingError."""
    found = _found(module, name)
    if not isinstance(found, Kind):
        text = f"the kind {module}.{name} is not there in the process that is to run it"
        raise pickle.UnpicklingError(text)
    return found


def _made(function: Any, options: Any) -> Kind[..., Any]:  # Any: they were checked when it was made first
    return Kind(function, **options)


@overload
def job(function: Callable[P, R], /) -> Kind[P, R]: ...
@overload
def job(**options: Unpack[KindOptions]) -> Callable[[Callable[P, R]], Kind[P, R]]: ...
def job(function: Any = None, /, **options: Any) -> Any:  # Any: the overloads say it
    """Make a function, or a coroutine function, a kind of job.

    Args:
        function: when used without parentheses.
        **options: `name`: what the store calls it, by default module and function; a function that moves keeps its
            jobs by it. `queue`: where they wait. `retry`: what failures lead to. `timeout`: seconds for one attempt,
            30 unless said; None means without end. `stall_timeout`: seconds without a word of progress after which an
            attempt is given up. `start_within`: seconds from when it is due after which a job is dead that nobody has
            begun; None unless said, it waits without end. `needs`: labels its agent must have. `unique`: called with
            the arguments, gives the key of which there is one; `until` says how long: `started`, `finished`,
            `forever`, or so many seconds from when it was enqueued; `on_conflict` what a second one does: `keep` gives
            the first, `replace` changes of it what `replaces` says while it waits, `debounce` puts it off as well, for
            `max_wait` seconds at most, `raise` refuses. `killable`: run it in a process, which can be ended whatever it
            does. `early_ack`: write that it is done before it runs, so that it runs once at most, and a crash loses
            it. `breakers`: circuit breakers that hold it back while open. `limit`: how many of its jobs may run at
            once. `tenant`: called with the arguments, says who shares the queue fairly with others.

    Raises:
        SpecError: an option that cannot be.
    """
    if function is not None:
        return Kind(function)
    return lambda function: Kind(function, **options)
