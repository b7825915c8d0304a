"""Making actors: from a child spec to a control block with a name, a parent and a home."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, get_args

from otpy.core.reason import Exit
from otpy.core.spec import Place
from otpy.core.suggest import did_you_mean
from otpy.core.text import safe_repr, safe_str
from otpy.errors import ActorExit, NameTakenError, SpecError, SystemStoppedError
from otpy.runtime.home import BOXES, STAND_INS
from otpy.runtime.links import with_peer
from otpy.runtime.mailbox import BoundedBox
from otpy.runtime.ref import Ref

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.core.spec import ChildSpec, Options
    from otpy.runtime.actor import Actor
    from otpy.runtime.system import System

    Adapter = Callable[[Callable[..., Any]], type[Actor] | None]

__all__ = ["ADAPTERS", "actor_class", "check_process_options", "new_ref", "start_arguments"]

WHERE: Final = get_args(Place)
"""The places that there are."""
ADAPTERS: list[Adapter] = []
"""Ways to run what is no otpy actor: each returns the actor class that runs it, or None. Higher floors add theirs."""


def actor_class(path: str, start: Callable[..., Any], place: str | None = None, loop: str | None = None) -> type[Actor]:
    """The actor class that runs what a spec starts, in the place of its options, if they name one.

    Raises:
        SpecError: it is a class that is no actor, or cannot be called, or cannot run in that place.
    """
    cls = _class_for(path, start)
    place = place or cls.place
    if place not in WHERE:
        raise SpecError(path, f"{cls.__name__}.place={safe_repr(place)}: {did_you_mean(safe_str(place), WHERE)}")
    if loop is not None and place != "loop":
        mend = "leave it out, or give a class with `async def` callbacks, or place='loop'"
        raise SpecError(path, f"loop={loop!r}, but {cls.__name__} runs in the place {place!r}: {mend}")
    _check_concurrency(path, cls)
    if place == "loop" and not cls.otpy_may_loop:
        raise SpecError(path, f"{cls.__name__} cannot run on an event loop: its code blocks; leave place out")
    if place not in {"loop", "process"} and cls.otpy_async is not None:
        mend = "leave place out: it runs on the system's event loop"
        raise SpecError(path, f"place={place!r}, but {cls.__name__}.{cls.otpy_async} is async; {mend}")
    return cls


def _check_concurrency(path: str, cls: type[Actor]) -> None:
    limit = cls.max_concurrency
    if type(limit) is not int or limit < 1:
        raise SpecError(path, f"{cls.__name__}.max_concurrency={safe_repr(limit)}: a whole number > 0")
    if limit > 1 and cls.otpy_async is None:
        mend = "without a coroutine function it handles one message at a time; leave it out"
        raise SpecError(path, f"{cls.__name__}.max_concurrency={limit}: {mend}")


def check_process_options(path: str, cls: type[Actor], spec: ChildSpec) -> None:
    """Refuse options that have a meaning in a process alone, where it will never run in one. Raises SpecError."""
    options = spec.options
    is_process = (options.place or cls.place) == "process"
    for word in ("silence", "max_memory_bytes", "max_cpu", "nice") if not is_process else ():
        value = getattr(options, word)
        if value is not None and options.on_stuck is None:
            raise SpecError(path, f"{word}={value!r} is for a child with place='process'; leave it out")
    what = getattr(spec.start, "__qualname__", safe_repr(spec.start))
    if is_process and "<" in what:  # what is made in a function, or a lambda
        raise SpecError(path, f"place='process', but {what} cannot be imported there; define it in a module")
    if options.on_stuck is None:
        return
    if is_process:
        raise SpecError(
            path, "on_stuck='process' with place='process': it runs in one, which a kill ends; leave it out"
        )
    if cls.is_supervisor:
        raise SpecError(path, "on_stuck is for workers: the code of a supervisor does not get stuck")
    if not _is_importable(spec.start):
        raise SpecError(path, f"on_stuck='process', but {what} cannot be imported there; define it in a module")


def _is_importable(start: Any) -> bool:  # Any: whatever a spec starts
    found: Any = sys.modules.get(getattr(start, "__module__", None) or "")
    for part in str(getattr(start, "__qualname__", "<none>")).split("."):
        found = getattr(found, part, None)
    return found is start


def _class_for(path: str, start: Callable[..., Any]) -> type[Actor]:
    if getattr(start, "is_otpy_actor", False) and isinstance(start, type):
        return start
    for adapter in ADAPTERS:
        found = adapter(start)
        if found is not None:
            return found
    what = getattr(start, "__name__", repr(start))
    raise SpecError(path, f"{what} is no actor; subclass otpy.GenServer, or give a function")


def start_arguments(cls: type[Actor], spec: ChildSpec) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What `init` is called with."""
    if getattr(cls, "inside", cls) is spec.start:  # for a class that stands in for one that runs elsewhere
        return spec.args, spec.kwargs
    return (spec.start, *spec.args), spec.kwargs


def new_ref(system: System, cls: type[Actor], spec: ChildSpec, ident: str | int, parent: Ref[Any] | None) -> Ref[Any]:
    """A control block whose `init` has not run: named, linked to its parent, `tok` taken.

    Raises:
        NameTakenError: its name has a living holder.
        SystemStoppedError: the system takes no new actors.
        ActorExit: the parent was killed, and only its code still runs.
    """
    options = spec.options
    place = options.place or cls.place
    if place != "pool":
        cls = STAND_INS[place](system, cls, spec) if place in STAND_INS else cls
    ref: Ref[Any] = Ref(system, cls, ident, parent)
    ref.started_at = system.clock.now()
    if options.max_queue is not None or place in BOXES:  # before anybody can find it by its name
        ref.mailbox = _mailbox(ref, place, options)
    with system.lock:
        if system.stopped:
            text = f"system {system.name} has stopped and takes no new actors"
            raise SystemStoppedError(text)
        if parent is not None and parent.reason is not None:
            raise ActorExit(parent.reason)
        if spec.name is not None:
            _take_name(system, ref, spec.name)
        system.alive += 1
        if cls.otpy_hooks:
            system.drains.hooked[ref] = None
        ref.number = system.last_number = system.last_number + 1
        if parent is not None:
            ref.links = parent
            parent.links = with_peer(parent.links, ref)
    if place != "pool":
        _take_home(system, ref, place, options.loop)
    return ref


def _take_name(system: System, ref: Ref[Any], name: str) -> None:
    if name in system.names:  # in a process child `get` would ask the parent, too
        raise NameTakenError(ref.path, Exit("already_started"), name, system.names[name])
    system.names[name] = ref
    ref.name = name
    if system.awaited_names:
        system.tell_of_name(name)


def _take_home(system: System, ref: Ref[Any], place: str, loop: str | None) -> None:
    ref.home = system.places[place](system, ref, loop)
    if place == "loop" and ref.actor_class.max_concurrency > 1:
        ref.extras().crew = ref.home.crew(ref)  # type: ignore[attr-defined]  # every home of that place has it


def _mailbox(ref: Ref[Any], place: str, options: Options) -> Any:  # Any: a place may have a kind of its own
    box = BOXES[place](ref, options) if place in BOXES else None
    if box is None and options.max_queue is not None:
        return BoundedBox(ref, options.max_queue, options.overflow)
    return box
