"""`DynamicSupervisor`: keeps children that are started one by one, any number of them. Elixir: DynamicSupervisor."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar

from otpy.actors.declared import Plan, check_child
from otpy.actors.flow import Flow, operation, query
from otpy.actors.keeper import Keeper
from otpy.actors.trials import has_failed
from otpy.core.decision import Stop
from otpy.core.reason import Reason, is_clean
from otpy.core.spec import ChildSpec, child, refuse_options
from otpy.core.suggest import did_you_mean
from otpy.errors import ChildNotFoundError, MaxChildrenError, OtpyError, SpecError, StartError, UnknownOptionError
from otpy.runtime.ref import Ref

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from otpy.actors.children import ChildCounts, ChildInfo, Entry
    from otpy.core.strategy import Strategy

__all__ = ["DynamicSupervisor", "dynamic"]

OPTIONS = ("max_children", "max_restarts", "max_seconds")


class DynamicSupervisor(Keeper):
    """One-for-one over children that others start; stops all of them at once.

    A child's id is a number given by the supervisor, so its path is as `shop/sessions/17`. When the supervisor itself
    is started again it has no children.
    """

    names_children: ClassVar[bool] = False
    strategy: ClassVar[Strategy] = "one_for_one"
    """It knows no other."""
    max_children: int | None = None
    """How many there may be, those being restarted included; None means no limit."""

    _template: ChildSpec | None = None
    _idents: Iterator[int]

    def boot(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """Begin to count, then as all supervisors."""
        self._idents = count(1)
        return super().boot(args, kwargs)

    def init(
        self,
        template: ChildSpec | None = None,
        *,
        max_children: int | None = None,
        max_restarts: int | None = None,
        max_seconds: float | None = None,
    ) -> object:
        """Take what `otpy.dynamic` was given."""
        self._template = template
        self.max_children = self.max_children if max_children is None else max_children
        self.max_restarts = self.max_restarts if max_restarts is None else max_restarts
        self.max_seconds = self.max_seconds if max_seconds is None else max_seconds
        return None

    def check_flags(self, path: str) -> None:
        """Refuse flags that cannot work, before anything starts. Raises SpecError."""
        super().check_flags(path)
        if self.strategy != "one_for_one" or getattr(self, "auto_shutdown", "never") != "never":
            raise SpecError(
                path, "a dynamic supervisor is one_for_one without auto_shutdown; otpy.Supervisor knows others"
            )
        if hasattr(self, "children"):
            raise SpecError(
                path, "a dynamic supervisor declares no children; derive from otpy.Supervisor, or start_child"
            )
        limit = self.max_children
        if limit is not None and (type(limit) is not int or limit < 0):
            raise SpecError(path, f"max_children={limit!r}: a whole number >= 0, or None")
        if self._template is not None:
            check_child(path, self._template)

    @classmethod
    def declares_by_itself(cls) -> bool:
        """Whether nothing of the user's has to run before it can say what it declares."""
        return cls.init is DynamicSupervisor.init and not cls._own_init

    @classmethod
    def check_declared(cls, path: str, spec: ChildSpec, names: dict[str, str]) -> None:  # noqa: ARG003 - as Keeper's
        """Refuse what `otpy.dynamic` was given. Raises SpecError."""
        if cls.declares_by_itself():
            plan: DynamicSupervisor = cls.make(Plan(path))
            plan.init(*spec.args, **spec.kwargs)  # type: ignore[arg-type]  # `dynamic` made them
            plan.check_flags(path)

    @operation
    def start_child(self, spec: ChildSpec) -> Flow[Ref[Any] | None]:
        """Start a child from its spec, whose id is not used; None when its `init` said `Ignore`: nothing is kept.

        Raises:
            SpecError: the spec cannot be used.
            MaxChildrenError: there are `max_children`.
            StartError: it did not start; nothing is kept.

        Elixir: DynamicSupervisor.start_child/2.
        """
        return (yield from self._start(check_child(self._path, spec)))

    @operation
    def start_with(self, *args: Any, **kwargs: Any) -> Flow[Ref[Any] | None]:  # Any: the template's own arguments
        """Start a child of what `otpy.dynamic` named; these arguments come after those given there.

        Raises:
            SpecError: `otpy.dynamic` named nothing.
            MaxChildrenError: there are `max_children`.
            StartError: it did not start; nothing is kept.

        OTP: supervisor:start_child/2 of a `simple_one_for_one` supervisor.
        """
        own = self._template
        if own is None:
            raise SpecError(self._path, "it has no class of its own; use start_child(spec) or otpy.dynamic(Class)")
        own_kwargs = own.kwargs | kwargs if kwargs else own.kwargs
        spec = ChildSpec(own.id, own.start, (*own.args, *args), own_kwargs, own.name, own.options)
        return (yield from self._start(check_child(self._path, spec)))

    @operation
    def start_children(self, specs: Sequence[ChildSpec]) -> Flow[list[Ref[Any] | StartError | MaxChildrenError | None]]:
        """Start many children with one message; the error stands in the place of each that did not start.

        Raises:
            SpecError: one of the specs cannot be used; nothing was started.
        """
        if not isinstance(specs, list | tuple):
            raise SpecError(self._path, f"start_children takes a list of child specs, got {type(specs).__name__}")
        path = self._path
        entries = [check_child(path, spec) for spec in specs]
        results: list[Ref[Any] | StartError | MaxChildrenError | None] = []
        for entry in entries:
            try:
                results.append((yield from self._start(entry)))
            except (StartError, MaxChildrenError) as error:
                results.append(error)
        return results

    @operation
    def terminate_child(self, ref: Ref[Any] | int) -> Flow[None]:
        """Stop one child and forget it; also ends its restart attempts. The number in its path does for its ref.

        Raises:
            ChildNotFoundError: it is no living child of this supervisor.

        Elixir: DynamicSupervisor.terminate_child/2.
        """
        ident, entry = self._entry_with(ref)
        entry.restarting = False
        yield from self.stop_entry(entry)
        self._table.remove(ident)

    @operation
    def restart_child(self, ref: Ref[Any] | int) -> Flow[Ref[Any] | None]:
        """Stop one child and start it again from its spec; not counted as a restart. Elixir has no such verb.

        It may also wait for its restart, or have been given up; the number in its path does for its ref.

        Raises:
            ChildNotFoundError: it is no child of this supervisor.
            StartError: it did not start again. One whose restart was due is tried again later, one that had been given
                up stays so, any other is forgotten.
        """
        ident, entry = self._entry_with(ref)
        error = yield from self.renew(ident, entry)
        if entry.ref is None and not (entry.restarting or entry.given_up):
            self._table.remove(ident)
        if error is not None:
            raise self.by_hand_failed(ident, entry, error)
        return entry.ref

    @query
    def which_children(self) -> list[ChildInfo]:
        """All children, last started first. Elixir: DynamicSupervisor.which_children/1."""
        return self._table.infos()

    @query
    def count_children(self) -> ChildCounts:
        """How many children of each kind there are. Elixir: DynamicSupervisor.count_children/1."""
        return self._table.counts()

    def _entry_with(self, ref: Ref[Any] | int) -> tuple[str | int, Entry]:
        """The child whose process this is, or was, while it is to have another. Raises ChildNotFoundError."""
        if type(ref) is int:
            if ref not in self._table.by_id:
                raise ChildNotFoundError(self._path, ref, "it has ended, or never was")
            return ref, self._table.by_id[ref]
        if not isinstance(ref, Ref):
            raise ChildNotFoundError(self._path, ref, "a dynamic supervisor knows its children by their refs")
        entry = self._table.by_id.get(ref.id) if ref.parent is self.ref else None
        if entry is None or (entry.ref is not ref and not entry.restarting and not entry.given_up):
            raise ChildNotFoundError(self._path, ref.path, "it has ended, or belongs to another supervisor")
        return ref.id, entry

    def _start(self, entry: Entry) -> Flow[Ref[Any] | None]:
        if self.max_children is not None and len(self._table) >= self.max_children:
            raise MaxChildrenError(self._path, self.max_children)
        ident = next(self._idents)
        self._table.add(ident, entry)
        try:
            error = yield from self.start_entry(ident, entry)
            if error is not None:
                raise error
        except OtpyError:
            self._table.remove(ident)
            raise
        if entry.ref is None:
            self._table.remove(ident)
        return entry.ref

    def child_ended(self, ref: Ref[Any], reason: Reason) -> Flow[Stop | None]:
        """Act on the end of a child."""
        entry = self._table.holding(ref)
        if entry is None:
            return None
        entry.ref, entry.last_exit = None, reason
        decided = self.verdict_on(entry, reason)
        restarts = decided == "restart"
        self.system.history.ended(ref, reason, decided if restarts else "forget")
        if restarts or not is_clean(reason):
            self.report_terminated(ref.id, reason)
        yield from self.await_orphans(ref)
        if restarts and has_failed(self.system, ref):
            self.system.history.decide(self._me, ref.id, "kept")
            return None
        if restarts:
            yield from self.move_if_stuck(entry, ref)
        if not restarts:
            self._table.remove(ref.id)
            return None
        if entry.spec.options.backoff is not None:
            return (yield from self.restart_later(ref, entry, reason))
        return (yield from self.restart(ref.id, entry, reason))

    def restart(self, ident: str | int, entry: Entry, reason: Reason) -> Flow[Stop | None]:
        """Start a child again, or give up."""
        limit = self.admit_restart(ident, entry, reason)
        if limit is not None:
            return (yield from self.refuse_restart(ident, entry, limit))
        error = yield from self.start_entry(ident, entry)
        if error is not None:
            self.retry_later(ident, entry, error)
        elif entry.ref is None:
            self._table.remove(ident)
        return None

    def end_all(self, reason: Reason) -> Flow[Stop]:
        """Stop all children at once, then end."""
        self._me.extras().stopping = True
        yield from self.stop_together(self._table.entries())
        return Stop(reason)


def dynamic(
    start: Callable[..., Any] | ChildSpec | None = None,  # Any: arguments come with each start
    /,
    *args: Any,
    max_children: int | None = None,
    max_restarts: int = 3,
    max_seconds: float = 5.0,
    **kwargs: Any,
) -> ChildSpec:
    """Declare a dynamic supervisor as a child.

    Args:
        start: what `DynamicSupervisor.start_with(*args)` starts, a class, a function or a child spec with options;
            specs given to `start_child` need none.
        *args: come before the arguments of each start.
        max_children: how many there may be; None means no limit.
        max_restarts: restarts it bears within `max_seconds`.
        max_seconds: the window, in seconds.
        **kwargs: keyword arguments of each start.

    Raises:
        UnknownOptionError: a keyword is no option, and what is started, if anything, takes no such argument.
        SpecError: as `otpy.child`.
    """
    if start is None and kwargs:
        word = next(iter(kwargs))
        raise UnknownOptionError("dynamic", word, did_you_mean(word, OPTIONS))
    template = None if start is None else _template(start, args, kwargs)
    options = {"max_children": max_children, "max_restarts": max_restarts, "max_seconds": max_seconds}
    ident = "dynamic" if template is None else f"{template.id}-supervisor"
    return ChildSpec(ident, DynamicSupervisor, (template,), dict(options))


def _template(start: Callable[..., Any] | ChildSpec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ChildSpec:
    if kwargs:
        inner, ident = (start.start, start.id) if isinstance(start, ChildSpec) else (start, child(start).id)
        refuse_options(f"{ident}-supervisor", inner, kwargs, own_options=OPTIONS)
    if isinstance(start, ChildSpec):
        return ChildSpec(start.id, start.start, (*start.args, *args), start.kwargs | kwargs, start.name, start.options)
    return child(start, *args, **kwargs)
