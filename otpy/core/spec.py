"""Child specs: what a supervisor must know to start, restart and stop one child."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass, field, fields, replace
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
)

from otpy.core.backoff import Backoff
from otpy.core.intensity import Limit
from otpy.core.number import is_number
from otpy.core.suggest import did_you_mean, nearest
from otpy.core.text import safe_repr, safe_str
from otpy.errors import SpecError, UnknownOptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from otpy.core.strategy import AutoShutdown, Restart

__all__ = [
    "BRUTAL_KILL",
    "DEFAULT",
    "INFINITY",
    "ChildSpec",
    "Name",
    "Options",
    "check_spec",
    "check_specs",
    "child",
    "name",
    "refuse_options",
]

P = ParamSpec("P")
A = TypeVar("A")

INFINITY: Final = math.inf
"""A shutdown time without end; the default for supervisors, which must be able to stop their children."""

BRUTAL_KILL: Final = "brutal_kill"
"""A shutdown that kills at once, without `terminate`."""

Shutdown = float | Literal["brutal_kill"]
Place = Literal["pool", "thread"]
Overflow = Literal["drop_new", "drop_old", "raise"]

_CHOICES: Final = {
    "restart": ("permanent", "transient", "temporary"),
    "place": ("pool", "thread", None),
    "overflow": ("drop_new", "drop_old", "raise"),
}


@dataclass(frozen=True, slots=True)
class Name(Generic[A]):
    """A registered name that knows the class behind it, written once and used by starter and callers."""

    text: str
    """The name itself; unique in its system."""
    cls: type[A] = field(compare=False)
    """What is found under it."""


def name(cls: type[A], text: str) -> Name[A]:
    """Make a typed name for `.opts(name=…)` and `system.ref(…)`.

    Raises:
        SpecError: the name is no text, or empty.
    """
    if not isinstance(text, str) or not text:
        raise SpecError("name", f"expected a text after the class, got {safe_repr(text)}; write otpy.name(Class, text)")
    return Name(text, cls)


class OptionWords(TypedDict, total=False):
    """The keywords of `ChildSpec.opts`, for the type checker."""

    id: str
    name: Name[Any] | str
    restart: Restart
    shutdown: Shutdown
    significant: bool
    start_timeout: float | None
    place: Place
    max_queue: int | None
    overflow: Overflow
    backoff: Backoff | None
    limit: Limit | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a child is kept; one object is shared by all specs that say nothing else."""

    restart: Restart = "permanent"
    """When it is started again: always, after a crash only, or never."""
    shutdown: Shutdown | None = None
    """Seconds between asking it to stop and killing it; None means 5.0 for workers, `INFINITY` for supervisors."""
    significant: bool = False
    """Whether its end by itself may end the supervisor (`auto_shutdown`)."""
    start_timeout: float | None = None
    """Seconds `init` may take; None, OTP's default, waits for ever."""
    place: Place | None = None
    """Where it runs; None means what its class says."""
    max_queue: int | None = None
    """Messages its mailbox holds at most; None means no limit."""
    overflow: Overflow = "drop_new"
    """What a full mailbox does with a message: a dropped one is a dead letter, `raise` tells the sender."""
    backoff: Backoff | None = None
    """Pauses before its restarts; None, OTP's way, starts it again at once."""
    limit: Limit | None = None
    """A restart limit of its own; None means that its restarts count for its supervisor's."""


DEFAULT: Final = Options()
NEAR: Final = 0.8
"""How near a keyword must be to an option's name, as difflib tells, to be taken for it: one letter or two."""
KNOWN: Final = frozenset({"id", "name", *(f.name for f in fields(Options))})


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """One child of a supervisor: what to start and how to keep it. Made by `otpy.child` and `otpy.dynamic`."""

    id: str
    """Its name among its siblings, the last part of its path."""
    start: Callable[..., object]
    """An actor class or a function."""
    args: tuple[object, ...] = ()
    """For its `init`."""
    kwargs: dict[str, object] = field(default_factory=dict)
    """For its `init`."""
    name: str | None = None
    """The name it registers, if any."""
    options: Options = DEFAULT
    """How it is kept."""

    def opts(self, **words: Unpack[OptionWords]) -> ChildSpec:
        """The same child with other options.

        Args:
            **words: `id`, `name` and the fields of `Options`.

        Raises:
            UnknownOptionError: a keyword is no option; the message guesses which was meant.
            SpecError: the name was made for another class.
        """
        given: dict[str, Any] = dict(words)
        for word in given:
            if word not in KNOWN:
                raise UnknownOptionError(str(given.get("id", self.id)), word, did_you_mean(word, KNOWN))
        own_id = given.pop("id", self.id)
        own_name = given.pop("name", self.name)
        if isinstance(own_name, Name):
            _check_name_class(own_id, own_name, self.start)
            own_name = own_name.text
        options = replace(self.options, **given) if given else self.options
        return ChildSpec(own_id, self.start, self.args, self.kwargs, own_name, options)


_NO_KWARGS: Final[dict[str, object]] = {}


class HasInit(Protocol[P]):
    """Anything with an `init` whose arguments are `P`."""

    def init(self, *args: P.args, **kwargs: P.kwargs) -> object:
        """Run inside the child when it starts."""


@overload
def child(start: type[HasInit[P]], /, *args: P.args, **kwargs: P.kwargs) -> ChildSpec: ...
@overload
def child(start: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> ChildSpec: ...
def child(start: Callable[..., Any], /, *args: Any, **kwargs: Any) -> ChildSpec:  # Any: the overloads above check
    """Declare a child: an actor class with its `init` arguments, or any function with its own.

    Its id is the class's or function's name; set another with `.opts(id=…)` when one stands twice in a tree.

    Raises:
        SpecError: a keyword is an option, or nearly, and `init` takes no such argument.
    """
    own = str(getattr(start, "__name__", None) or type(start).__name__)
    if kwargs:
        refuse_options(own, start, kwargs, own_options=())
    return ChildSpec(own, start, args, kwargs or _NO_KWARGS)


def refuse_options(ident: str, start: Callable[..., Any], kwargs: Iterable[str], *, own_options: Iterable[str]) -> None:
    """Refuse a keyword for `start` that it does not take and that is nearly an option's name.

    Args:
        ident: of whom it was given for.
        start: an actor class or a function.
        kwargs: the keywords for it.
        own_options: options that stand among them; all others go into `.opts(…)`.

    Raises:
        UnknownOptionError: one of `own_options` was meant.
        SpecError: an option of every child was meant.
    """
    own = tuple(own_options)
    for word in kwargs:
        near = nearest(word, (*own, *KNOWN), cutoff=NEAR)
        if near is None or _takes(start, word):
            continue
        if near in own:
            raise UnknownOptionError(ident, word, f"did you mean {near!r}?")
        raise SpecError(ident, f"it takes no argument {word!r}; options go into .opts({near}=…)")


def _takes(start: Callable[..., Any], word: str) -> bool:
    """Whether a class's `init`, or a function, may be called with this keyword; also when that cannot be known."""
    called = getattr(start, "init", None) if isinstance(start, type) else start
    try:
        parameters = inspect.signature(called or start).parameters
    except (TypeError, ValueError):
        return True
    return word in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())


def check_specs(
    path: str, specs: object, *, auto_shutdown: AutoShutdown = "never", taken: Iterable[str] = ()
) -> list[ChildSpec]:
    """All specs of one supervisor, checked before anything starts.

    Raises:
        SpecError: names the child's path, what was found and how to mend it.
    """
    if not isinstance(specs, list | tuple):
        found = type(specs).__name__
        raise SpecError(path, f"children() must return a list of child specs, got {found}; write [otpy.child(…), …]")
    seen = set(taken)
    for spec in specs:
        check_spec(path, spec, auto_shutdown=auto_shutdown)
        if spec.id in seen:
            raise SpecError(f"{path}/{safe_str(spec.id)}", "two children have this id; give one of them .opts(id=…)")
        seen.add(spec.id)
    return list(specs)


def check_spec(path: str, spec: object, *, auto_shutdown: AutoShutdown = "never") -> ChildSpec:
    """One spec, checked. Raises SpecError as `check_specs` does."""
    if not isinstance(spec, ChildSpec):
        raise SpecError(path, f"expected a child spec, got {_what(spec)}; write otpy.child(…)")
    if not isinstance(spec.id, str) or not spec.id or "/" in spec.id:
        raise SpecError(f"{path}/{safe_str(spec.id)}", "an id is a text without '/' (ids joined by '/' make the path)")
    if not callable(spec.start):
        mend = "give the class itself, with its init arguments after it"
        raise SpecError(
            f"{path}/{safe_str(spec.id)}",
            f"start must be an actor class or a function, got {_what(spec.start)}; {mend}",
        )
    if spec.name is not None and (not isinstance(spec.name, str) or not spec.name):
        raise SpecError(
            f"{path}/{safe_str(spec.id)}",
            f"name={safe_repr(spec.name)}: a text, or what otpy.name(Class, text) returns",
        )
    if spec.options is not DEFAULT:
        _check_options(f"{path}/{safe_str(spec.id)}", spec.options, auto_shutdown)
    return spec


def _what(value: object) -> str:
    """What was found where something else belongs."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    word = type(value).__name__
    return f"{'an' if word[0] in 'aeiouAEIOU' else 'a'} {word}"


def _check_name_class(where: str, own: Name[Any], start: object) -> None:
    if isinstance(start, type) and isinstance(own.cls, type) and not issubclass(start, own.cls):
        raise SpecError(where, f"name {own.text!r} is for {own.cls.__name__}, not for {start.__name__}")


def _check_options(where: str, options: Options, auto_shutdown: AutoShutdown) -> None:
    for option, choices in _CHOICES.items():
        value = getattr(options, option)
        if value not in choices:
            words = [choice for choice in choices if choice is not None]
            raise SpecError(where, f"{option}={safe_repr(value)}: {did_you_mean(safe_str(value), words)}")
    _check_times(where, options)
    _check_queue(where, options)
    _check_gentle(where, options)
    if not isinstance(options.significant, bool):
        raise SpecError(where, f"significant={safe_repr(options.significant)}: True or False")
    if options.significant and (options.restart == "permanent" or auto_shutdown == "never"):
        mend = "a significant child is transient or temporary, under a supervisor whose auto_shutdown is not 'never'"
        raise SpecError(where, f"significant=True with restart={safe_repr(options.restart)}, {auto_shutdown=}: {mend}")


def _check_times(where: str, options: Options) -> None:
    shutdown, timeout = options.shutdown, options.start_timeout
    if shutdown is not None and shutdown != BRUTAL_KILL and not (is_number(shutdown) and shutdown >= 0):
        raise SpecError(where, f"shutdown={safe_repr(shutdown)}: seconds >= 0, otpy.INFINITY or otpy.BRUTAL_KILL")
    if timeout is not None and not (is_number(timeout) and 0 < timeout < math.inf):
        raise SpecError(where, f"start_timeout={safe_repr(timeout)}: seconds > 0, or None to wait for ever")


def _check_queue(where: str, options: Options) -> None:
    limit = options.max_queue
    if limit is not None and not (type(limit) is int and limit > 0):
        raise SpecError(where, f"max_queue={safe_repr(limit)}: a whole number > 0, or None for no limit")
    if limit is None and options.overflow != "drop_new":
        raise SpecError(
            where, f"overflow={safe_repr(options.overflow)} without max_queue: without limit it never overflows"
        )


def _check_gentle(where: str, options: Options) -> None:
    for option, kind in (("backoff", Backoff), ("limit", Limit)):
        value = getattr(options, option)
        if value is None:
            continue
        problem = value.problem() if isinstance(value, kind) else f"{safe_repr(value)}: otpy.{kind.__name__}(…) or None"
        if problem is not None:
            raise SpecError(where, f"{option}: {problem}")
        if options.restart == "temporary":
            raise SpecError(where, f"{option} with restart='temporary': it is never started again")
