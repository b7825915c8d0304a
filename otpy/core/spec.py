"""Child specs: what a supervisor must know to start, restart and stop one child."""

from __future__ import annotations

import inspect
import math
from dataclasses import field, fields, replace
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

from otpy.core.suggest import did_you_mean, nearest_option
from otpy.core.text import safe_repr
from otpy.core.value import value
from otpy.errors import SpecError, UnknownOptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from otpy.core.backoff import Backoff
    from otpy.core.intensity import Limit
    from otpy.core.strategy import Restart

__all__ = [
    "BRUTAL_KILL",
    "DEFAULT",
    "INFINITY",
    "ChildSpec",
    "Name",
    "OnStuck",
    "Options",
    "Overflow",
    "Place",
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
Place = Literal["pool", "thread", "loop", "process"]
OnStuck = Literal["process"]
Overflow = Literal["drop_new", "drop_old", "raise"]


@value
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
    loop: str | None
    max_queue: int | None
    overflow: Overflow
    backoff: Backoff | None
    limit: Limit | None
    on_stuck: OnStuck | None
    silence: float | None
    max_memory_bytes: int | None
    max_cpu: float | None
    nice: int | None


@value(kw_only=True)
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
    loop: str | None = None
    """On which event loop, by a name of your own; None means the system's first one."""
    max_queue: int | None = None
    """Messages its mailbox holds at most; None means no limit."""
    overflow: Overflow = "drop_new"
    """What a full mailbox does with a message: a dropped one is a dead letter, `raise` tells the sender."""
    backoff: Backoff | None = None
    """Pauses before its restarts; None, OTP's way, starts it again at once."""
    limit: Limit | None = None
    """A restart limit of its own; None means that its restarts count for its supervisor's."""
    on_stuck: OnStuck | None = None
    """`process`: when it was killed and its code still runs, it is started in a process from then on; None: never."""
    silence: float | None = None
    """Seconds without a sign of life after which its process is killed; None means that it is only reported."""
    max_memory_bytes: int | None = None
    """What its process may hold in memory; None means no limit."""
    max_cpu: float | None = None
    """Seconds of CPU time that its process may use, in whole seconds rounded up; None means no limit."""
    nice: int | None = None
    """How far its process stands back behind others, from 1 to 19; None means as its parent does."""

    def where(self, own: str) -> str:
        """Where it runs, as text; `own` is the place of its class."""
        place = self.place or own
        return place if self.loop is None else f"{place}:{self.loop}"


DEFAULT: Final = Options()
NEAR: Final = 0.8
"""How near a keyword must be to an option's name, as difflib tells, to be taken for it: one letter or two."""
KNOWN: Final = frozenset({"id", "name", *(f.name for f in fields(Options))})


@value
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
        near = nearest_option(word, (*own, *KNOWN), NEAR)
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


def _check_name_class(where: str, own: Name[Any], start: object) -> None:
    if isinstance(start, type) and isinstance(own.cls, type) and not issubclass(start, own.cls):
        raise SpecError(where, f"name {own.text!r} is for {own.cls.__name__}, not for {start.__name__}")
