"""`DynamicSupervisor`: keeps children that are started one by one, any number of them. Elixir: DynamicSupervisor."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar

from otpy.actors.children import ChildCounts, ChildInfo, Entry
from otpy.actors.flow import Flow, operation
from otpy.actors.keeper import Keeper
from otpy.core.decision import Stop
from otpy.core.reason import Normal, Reason, Shutdown
from otpy.core.spec import ChildSpec, check_spec, child
from otpy.core.strategy import verdict
from otpy.errors import ChildNotFoundError, MaxChildrenError, OtpyError, SpecError, StartError
from otpy.runtime.mailbox import put
from otpy.runtime.spawn import actor_class

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from otpy.runtime.ref import Ref

__all__ = ["DynamicSupervisor", "dynamic"]


class DynamicSupervisor(Keeper):
    """One-for-one over children that others start; stops all of them at once.

    A child's id is a number given by the supervisor, so its path is as `shop/sessions/17`. When the supervisor itself
    is started again it has no children.
    """

    names_children: ClassVar[bool] = False
    max_children: int | None = None
    """How many there may be, those being restarted included; None means no limit."""

    _template: ChildSpec | None
    _idents: Iterator[int]

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
        self._idents = count(1)
        self.max_children = self.max_children if max_children is None else max_children
        self.max_restarts = self.max_restarts if max_restarts is None else max_restarts
        self.max_seconds = self.max_seconds if max_seconds is None else max_seconds
        return None

    def check_flags(self) -> None:
        """Refuse flags that cannot work, before anything starts."""
        super().check_flags()
        limit = self.max_children
        if limit is not None and (type(limit) is not int or limit < 0):
            raise SpecError(self.ref.path, f"max_children={limit!r}: a whole number >= 0, or None")

    @operation
    def start_child(self, spec: ChildSpec) -> Flow[Ref[Any] | None]:
        """Start a child from its spec, whose id is not used; None when its `init` said `Ignore`: nothing is kept.

        Raises:
            SpecError: the spec cannot be used.
            MaxChildrenError: there are `max_children`.
            StartError: it did not start; nothing is kept.

        Elixir: DynamicSupervisor.start_child/2.
        """
        return (yield from self._start(spec))

    @operation
    def start_children(self, specs: Sequence[ChildSpec]) -> Flow[list[Ref[Any] | StartError | None]]:
        """Start many children with one message; a StartError stands in the place of each that did not start."""
        results: list[Ref[Any] | StartError | None] = []
        for spec in specs:
            try:
                results.append((yield from self._start(spec)))
            except StartError as error:
                results.append(error)
        return results

    @operation
    def start(self, *args: Any, **kwargs: Any) -> Flow[Ref[Any] | None]:  # Any: the template's own arguments
        """Start a child of the class that `otpy.dynamic` named; these arguments come after those given there."""
        template = self._template
        if template is None:
            raise SpecError(self.ref.path, "it has no class of its own; use start_child(spec) or otpy.dynamic(Class)")
        spec = ChildSpec(
            template.id,
            template.start,
            (*template.args, *args),
            template.kwargs | kwargs if kwargs else template.kwargs,
            None,
            template.options,
        )
        return (yield from self._start(spec))

    @operation
    def terminate_child(self, ref: Ref[Any]) -> Flow[None]:
        """Stop one child and forget it.

        Raises:
            ChildNotFoundError: it is no living child of this supervisor.

        Elixir: DynamicSupervisor.terminate_child/2.
        """
        entry = self._table.by_id.get(ref.id)
        if entry is None or (entry.ref is not ref and not entry.restarting):
            raise ChildNotFoundError(self.ref.path, ref.path, "it has ended, or belongs to another supervisor")
        entry.restarting = False
        yield from self.stop_entry(entry)
        self._table.remove(ref.id)

    @operation
    def restart_child(self, ref: Ref[Any]) -> Flow[Ref[Any] | None]:
        """Stop one child and start it again from its spec; not counted as a restart. Elixir has no such verb.

        Raises:
            ChildNotFoundError: it is no living child of this supervisor.
            StartError: it did not start again; it is forgotten.
        """
        entry = self._table.holding(ref)
        if entry is None:
            raise ChildNotFoundError(self.ref.path, ref.path, "it has ended, or belongs to another supervisor")
        yield from self.stop_entry(entry)
        error = yield from self.start_entry(ref.id, entry)
        if error is not None or entry.ref is None:
            self._table.remove(ref.id)
        if error is not None:
            raise error
        return entry.ref

    @operation
    def which_children(self) -> list[ChildInfo]:
        """All children, last started first. Elixir: DynamicSupervisor.which_children/1."""
        return self._table.infos()

    @operation
    def count_children(self) -> ChildCounts:
        """How many children of each kind there are. Elixir: DynamicSupervisor.count_children/1."""
        return self._table.counts()

    def _start(self, spec: ChildSpec) -> Flow[Ref[Any] | None]:
        check_spec(self._path, spec)
        if self.max_children is not None and len(self._table) >= self.max_children:
            raise MaxChildrenError(self.ref.path, self.max_children)
        ident = next(self._idents)
        entry = Entry(spec, actor_class(self._path, spec.start))
        self._table.add(ident, entry)
        try:
            error = yield from self.start_entry(ident, entry)
        except OtpyError:
            self._table.remove(ident)
            raise
        if error is not None or entry.ref is None:
            self._table.remove(ident)
        if error is not None:
            raise error
        return entry.ref

    def child_ended(self, ref: Ref[Any], reason: Reason) -> Flow[Stop | None]:
        """Act on the end of a child."""
        entry = self._table.holding(ref)
        if entry is None:
            return None
        entry.ref, entry.last_exit = None, reason
        restart = verdict(entry.spec.options.restart, reason) == "restart"
        if restart or not isinstance(reason, Normal | Shutdown):
            self.report_terminated(ref.id, reason)
        if not restart:
            self._table.remove(ref.id)
            return None
        return (yield from self._restart(ref.id, entry, reason))

    def _restart(self, ident: str | int, entry: Entry, reason: Reason) -> Flow[Stop | None]:
        limit = self.admit_restart(ident, reason)
        if limit is not None:
            return (yield from self.end_all(Shutdown(limit)))
        entry.restarts += 1
        error = yield from self.start_entry(ident, entry)
        if error is not None:
            self.report_start_failed(ident, error)
            entry.restarting = True
            put(self.ref, (deliver_retry, ident, error.reason))
        elif entry.ref is None:
            self._table.remove(ident)
        return None

    def try_again(self, ident: int, reason: Reason) -> Flow[Stop | None]:
        """Try a failed restart again, unless somebody ended the attempts."""
        entry = self._table.by_id.get(ident)
        if entry is None or not entry.restarting:
            return None
        return (yield from self._restart(ident, entry, reason))

    def end_all(self, reason: Reason) -> Flow[Stop]:
        """Stop all children at once, then end."""
        yield from self.stop_together(self._table.entries())
        return Stop(reason)


def deliver_retry(actor: DynamicSupervisor, ident: int, reason: Reason) -> object:
    """Hand over the reminder that a restart has failed."""
    return actor.submit(DynamicSupervisor.try_again, ident, reason)


def dynamic(
    start: Callable[..., Any] | None = None,  # Any: arguments come with each start
    /,
    *args: Any,
    max_children: int | None = None,
    max_restarts: int = 3,
    max_seconds: float = 5.0,
    **kwargs: Any,
) -> ChildSpec:
    """Declare a dynamic supervisor as a child.

    Args:
        start: what `DynamicSupervisor.start(*args)` starts; specs given to `start_child` need none.
        *args: come before the arguments of each start.
        max_children: how many there may be; None means no limit.
        max_restarts: restarts it bears within `max_seconds`.
        max_seconds: the window, in seconds.
        **kwargs: keyword arguments of each start.
    """
    template = None if start is None else child(start, *args, **kwargs)
    options = {"max_children": max_children, "max_restarts": max_restarts, "max_seconds": max_seconds}
    ident = "dynamic" if template is None else f"{template.id}-supervisor"
    return ChildSpec(ident, DynamicSupervisor, (template,), dict(options))
