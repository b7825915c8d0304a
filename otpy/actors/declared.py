"""Looking a declared tree over before anything of it starts: one error names the child's path and the mend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.actors.children import Entry
from otpy.actors.gentle import entry_for
from otpy.core.spec import DEFAULT, ChildSpec
from otpy.core.spec_check import check_spec, check_specs
from otpy.core.suggest import nearest_option
from otpy.errors import SpecError, UnknownOptionError
from otpy.runtime.spawn import actor_class, check_process_options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from otpy.core.strategy import AutoShutdown
    from otpy.runtime.ref import Ref

__all__ = [
    "Plan",
    "check_child",
    "check_children",
    "check_depth",
    "check_entry",
    "check_names_free",
    "declare",
    "misspelt",
]

MAX_DEPTH = 100
"""Levels of a tree; what is deeper would never end."""


class Plan:
    """Stands in the place of a ref while a supervisor that does not run is asked what it declares."""

    def __init__(self, path: str) -> None:
        """Where it is going to be; it has nothing else, and asking for more ends the look."""
        self.path = path


def declare(path: str, children: Callable[[], object]) -> object:
    """What `children()` returns; a misspelt option in it is reported with the whole path."""
    try:
        return children()
    except UnknownOptionError as error:
        raise UnknownOptionError(f"{path}/{error.path}", error.option, error.hint) from None
    except SpecError as error:
        raise SpecError(f"{path}/{error.path}", error.problem) from None


def check_children(
    path: str, specs: object, *, auto_shutdown: AutoShutdown, names: dict[str, str], below: bool
) -> list[Entry]:
    """The children of one supervisor, ready to be started, in start order.

    Args:
        path: the supervisor's.
        specs: what its `children()` returned.
        auto_shutdown: its setting.
        names: registered names met so far, with the path of the child; filled here.
        below: whether to look at what child supervisors declare, as far as that can be known without starting them.

    Raises:
        SpecError: something cannot work.
    """
    check_depth(path)
    return [
        check_entry(path, spec, names, below=below) for spec in check_specs(path, specs, auto_shutdown=auto_shutdown)
    ]


def check_child(path: str, spec: object, auto_shutdown: AutoShutdown = "never") -> Entry:
    """One child that is to be added to a running supervisor. Raises SpecError."""
    checked = check_spec(path, spec, auto_shutdown=auto_shutdown)
    start = checked.start
    if isinstance(start, type) and getattr(start, "is_otpy_actor", False) and not getattr(start, "is_supervisor", True):
        # As `check_entry`, for the many.
        if checked.options is DEFAULT:
            return Entry(checked, start)
        check_process_options(f"{path}/{checked.id}", start, checked)
        return entry_for(checked, start)
    return check_entry(path, checked, {}, below=True)


def check_depth(path: str) -> None:
    """Refuse a supervisor below too many others. Raises SpecError."""
    if path.count("/") > MAX_DEPTH:
        last = path.rpartition("/")[2]
        problem = f"more than {MAX_DEPTH} supervisors below each other; is one among its own children?"
        raise SpecError(f"…/{last}", problem)


def check_names_free(names: dict[str, str], taken: Mapping[str, Ref[Any]]) -> None:
    """Refuse names that somebody holds. Raises SpecError."""
    for text, where in names.items():
        try:
            holder = taken[text]  # not `get`, which in a process child asks its parent, too
        except KeyError:
            continue
        problem = f"name {text!r} is taken by {holder.path}; stop that one first, or choose another name"
        raise SpecError(where, problem)


def check_entry(path: str, spec: ChildSpec, names: dict[str, str], *, below: bool) -> Entry:
    """A checked spec as an entry: its class is an actor's, its name is free. Arguments as for `check_children`."""
    where = f"{path}/{spec.id}"
    cls = actor_class(where, spec.start, spec.options.place, spec.options.loop)
    check_process_options(where, cls, spec)
    if spec.name is not None:
        other = names.setdefault(spec.name, where)
        if other is not where:
            raise SpecError(where, f"name {spec.name!r} is that of {other}, too; a name is unique in its system")
    if cls.is_supervisor:
        if spec.options.max_queue is not None:
            raise SpecError(where, "a supervisor must hear of each of its children: it cannot have a max_queue")
        if below:
            known = {} if (spec.options.place or cls.place) == "process" else names  # there it has names of its own
            cls.check_declared(where, spec, known)  # type: ignore[attr-defined]  # all supervisors have it
    return entry_for(spec, cls)


SETTINGS = ("auto_shutdown", "children", "max_children", "max_restarts", "max_seconds", "strategy")
HOUSE = ("otpy.actors.", "otpy.runtime.", "builtins", "pykka.")
"""Whose words are spelt right."""
NEAR = 0.85
"""How near a word must be to a setting, as difflib tells, to be taken for it."""


def misspelt(cls: type) -> str | None:
    """What a subclass calls nearly as a setting is called, in a sentence: nobody would ever read it."""
    words = [word for own in cls.__mro__ if not own.__module__.startswith(HOUSE) for word in vars(own)]
    for word in words:
        near = None if word in SETTINGS or word.startswith("__") else nearest_option(word, SETTINGS, NEAR)
        if near is not None:
            return f"{cls.__name__} has {word!r}, which is no setting: did you mean {near!r}?"
    return None
