"""Looking a whole tree over without starting anything: its parts as a value, and every mistake in it at once.

A start looks its tree over, too (`Supervisor.check_declared`), and by a walk of its own, which ends at the first
mistake, makes no parts, binds no arguments and leaves to `init` what only that can tell: so it takes a fraction of the
time, and whoever starts a child waits for it. No rule is written twice for that. A rule about one child is in
`check_spec`, `check_specs` or `check_entry`, one about a supervisor in `check_flags` or `check_depth`, and how it is
asked for its children in `Keeper.otpy_init` and `declare`; both walks go through all of them.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from otpy.actors.children import Entry
from otpy.actors.declared import Plan, check_depth, check_entry, declare
from otpy.actors.dynamic_supervisor import DynamicSupervisor
from otpy.actors.keeper import Keeper
from otpy.actors.supervisor import Supervisor
from otpy.core.part import BEYOND, SEALED, Finding, Flags, Part
from otpy.core.spec_check import check_spec, check_specs
from otpy.core.text import exception_line
from otpy.core.value import value
from otpy.errors import SpecError
from otpy.runtime.actor import Actor
from otpy.runtime.spawn import actor_class

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.core.spec import ChildSpec
    from otpy.core.strategy import AutoShutdown

__all__ = ["Survey", "survey"]

MAX_PARTS = 100_000
"""Parts that are looked at; below further ones nobody looks, and the survey says so."""
ANY = "*"
"""The id of whatever a dynamic supervisor starts."""


@value
class Survey:
    """What a look at a declared tree has found."""

    root: Part | None
    """The tree; None when the root itself cannot be used."""
    errors: tuple[Finding, ...]
    """What keeps it from starting, in the order of the tree."""


def survey(name: str, spec: ChildSpec, *, with_init: bool = False) -> Survey:
    """Look a tree over. Calls `children()` of supervisors, on objects that never run; starts nothing.

    Args:
        name: what the system would be called; the first part of every path.
        spec: the root.
        with_init: run the `init` of supervisors too, on those objects, where their children may depend on it.
    """
    look = _Look(with_init=with_init)
    try:
        check_spec(name, spec)
        entry = Entry(spec, actor_class(name, spec.start))
        if spec.name is not None:
            look.names[spec.name] = name
    except SpecError as error:
        return Survey(None, (Finding("error", error.path, error.problem),))
    return Survey(look.part(name, entry), tuple(look.errors))


class _Look:
    """One walk through a tree."""

    def __init__(self, *, with_init: bool) -> None:
        self.names: dict[str, str] = {}
        self.errors: list[Finding] = []
        self._with_init = with_init
        self._left = MAX_PARTS
        self._cut: str | None = BEYOND

    def part(self, path: str, entry: Entry, *, is_template: bool = False) -> Part:
        """A child and what is below it; a template gets more arguments at each start."""
        spec, cls = entry.spec, entry.cls
        self._left -= 1
        known = _Below() if cls.is_supervisor else None
        problem = _argument_problem(entry, is_partial=is_template)
        if problem is not None:
            self._note(SpecError(path, problem))
        elif known is not None:
            outer = self.names
            if (spec.options.place or cls.place) == "process":
                self.names = {}  # names are unique in one process
            self._look_below(path, entry, known)
            self.names = outer
        return Part(
            path=path,
            id=spec.id,
            kind=str(getattr(spec.start, "__name__", cls.__name__)),
            is_supervisor=cls.is_supervisor,
            place=spec.options.where(cls.place),
            options=spec.options,
            shutdown=max(entry.shutdown, 0.0),
            name=spec.name,
            flags=None if known is None else known.flags,
            children=() if known is None else tuple(known.children),
            unknown=None if known is None else known.unknown,
            unseen_stop=0.0 if known is None else known.stop,
        )

    def _look_below(self, path: str, entry: Entry, known: _Below) -> None:
        if self._left < 0:
            known.unknown = self._cut
            return
        try:
            check_depth(path)
        except SpecError as error:
            self._note(error)
            self._left, self._cut = -1, None  # said once, and then nothing below anybody is looked at any more
            return
        plan = self._plan(path, entry, known)
        if plan is None:
            return
        try:
            plan.check_flags(path)
            known.flags = _flags(plan)
        except SpecError as error:
            self._note(error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a setting may be a property
            known.unknown = f"its settings need a running system ({exception_line(error, 200)})"
            return
        try:
            self._ask(path, plan, known)
        except SpecError as error:
            self._note(error)

    def _plan(self, path: str, entry: Entry, known: _Below) -> Keeper | None:
        """An object that never runs, to be asked what it declares."""
        cls: Any = entry.cls
        sealed_stop = cls.sealed_stop()
        if sealed_stop is not None:
            known.unknown, known.stop = SEALED, sealed_stop - cls.sealed_work()
            return None
        if not (cls.declares_by_itself() or self._with_init):
            known.unknown = f"{cls.__name__} has an init of its own, and --init was not given"
            return None
        try:
            plan: Keeper = cls.make(Plan(path))
            said = plan.otpy_init(*entry.spec.args, **entry.spec.kwargs)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - it needs more than a plan; its start will tell
            known.unknown = f"its init needs a running system ({exception_line(error, 200)})"
            return None
        if said is not None:
            known.unknown = f"its init said {type(said).__name__}"
            return None
        return plan

    def _ask(self, path: str, plan: Keeper, known: _Below) -> None:
        if isinstance(plan, DynamicSupervisor):
            template = plan._template  # noqa: SLF001 - the same house
            if template is not None:
                entry = check_entry(path, template, {}, below=False)
                known.children.append(self.part(f"{path}/{ANY}", entry, is_template=True))
            return
        assert isinstance(plan, Supervisor)  # noqa: S101 - there are two kinds
        try:
            specs = declare(path, plan.children)
        except SpecError:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - it needs more than a plan; its start will tell
            known.unknown = f"its children() needs a running system ({exception_line(error, 200)})"
            return
        self._children(path, specs, plan.auto_shutdown, known.children)

    def _children(self, path: str, specs: object, auto_shutdown: AutoShutdown, found: list[Part]) -> None:
        """Each child for itself: one that cannot be used does not hide the others."""
        if not isinstance(specs, list | tuple):
            check_specs(path, specs)  # says so
            return
        seen: set[str] = set()
        for spec in specs:
            try:
                known = check_spec(path, spec, auto_shutdown=auto_shutdown)
                check_specs(path, [known], auto_shutdown=auto_shutdown, taken=seen & {known.id})
                seen.add(known.id)
                entry = check_entry(path, known, self.names, below=False)
            except SpecError as error:
                self._note(error)
            else:
                found.append(self.part(f"{path}/{known.id}", entry))

    def _note(self, error: SpecError) -> None:
        self.errors.append(Finding("error", error.path, error.problem))


class _Below:
    """What is known of a supervisor, while it is being found out."""

    def __init__(self) -> None:
        self.flags: Flags | None = None
        self.children: list[Part] = []
        self.unknown: str | None = None
        self.stop = 0.0


def _flags(plan: Keeper) -> Flags:
    return Flags(
        is_dynamic=isinstance(plan, DynamicSupervisor),
        strategy=getattr(plan, "strategy", "one_for_one"),
        auto_shutdown=getattr(plan, "auto_shutdown", "never"),
        max_restarts=plan.max_restarts,
        max_seconds=float(plan.max_seconds),
    )


def _argument_problem(entry: Entry, *, is_partial: bool) -> str | None:
    """Why a start would fail on its arguments, as far as a signature tells."""
    spec, cls = entry.spec, entry.cls
    if not isinstance(spec.start, type):
        return _mismatch(spec.start, spec.args, spec.kwargs, is_partial=is_partial)
    init: Any = cls.init
    if cls is not spec.start or init is Actor.init:
        return None
    if init is Keeper.init:
        return f"{cls.__name__} has no init that takes arguments" if spec.args or spec.kwargs else None
    return _mismatch(init, (None, *spec.args), spec.kwargs, is_partial=is_partial)


def _mismatch(
    function: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object], *, is_partial: bool
) -> str | None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a function of C that does not tell
        return None
    try:
        (signature.bind_partial if is_partial else signature.bind)(*args, **kwargs)
    except TypeError as error:
        name = getattr(function, "__qualname__", "it").rpartition("<locals>.")[2]
        return f"{name} does not take the arguments it is given: {error}"
    return None
