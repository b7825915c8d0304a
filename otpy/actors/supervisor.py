"""`Supervisor`: keeps declared children alive, in order. OTP: supervisor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, get_args

from otpy.actors.children import ChildCounts, ChildInfo, Entry, info_of
from otpy.actors.declared import Plan, check_child, check_children, check_names_free, declare
from otpy.actors.flow import Flow, operation, query
from otpy.actors.keeper import Keeper
from otpy.actors.trials import has_failed
from otpy.core.decision import Stop
from otpy.core.reason import Exit, FailedChild, Reason, RestartLimit, Shutdown, is_clean
from otpy.core.strategy import AutoShutdown, Strategy, affected, ends_supervisor
from otpy.core.suggest import did_you_mean
from otpy.errors import ChildStateError, NameTakenError, OtpyError, SpecError
from otpy.runtime.birth import PENDING, fail_start, started
from otpy.runtime.history import MAX_NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otpy.core.spec import ChildSpec
    from otpy.runtime.ref import Ref

__all__ = ["Supervisor"]


class Supervisor(Keeper):
    """Starts its children in order, stops them in reverse, and starts again what ends.

    It never blocks a thread while a child starts or stops, except in the `init` of a child without `start_timeout`,
    which runs on its thread. OTP: https://www.erlang.org/doc/apps/stdlib/supervisor.html.
    """

    strategy: Strategy = "one_for_one"
    """Whom a restart takes along: nobody, all, or those started later."""
    auto_shutdown: AutoShutdown = "never"
    """Whether the end of significant children ends the supervisor."""
    _settings: ClassVar[dict[str, Sequence[str]]] = {
        "strategy": get_args(Strategy),
        "auto_shutdown": get_args(AutoShutdown),
    }

    def children(self) -> list[ChildSpec]:
        """Override: declare the children, in start order. Called for each incarnation, after `init`.

        It should do nothing but declare: where there is no `init`, a supervisor above calls it once more, on an object
        that never runs, to check the whole tree before anything of it starts.
        """
        return []

    def check_flags(self, path: str) -> None:
        """Refuse flags that cannot work, before anything starts. Raises SpecError."""
        super().check_flags(path)
        for setting, known in self._settings.items():
            value = getattr(self, setting)
            if value not in known:
                raise SpecError(path, f"{setting}={value!r}: {did_you_mean(str(value), known)}")

    @classmethod
    def check_declared(cls, path: str, spec: ChildSpec, names: dict[str, str]) -> None:
        """Refuse what it declares, unless that depends on its `init` or on a running system. Raises SpecError."""
        if not cls.declares_by_itself() or spec.args or spec.kwargs:
            return
        plan: Supervisor = cls.make(Plan(path))
        plan.check_flags(path)
        try:
            specs = declare(path, plan.children)
        except SpecError:
            raise
        except Exception:  # noqa: BLE001 - it needs more than a plan; its start will tell
            return
        check_children(path, specs, auto_shutdown=plan.auto_shutdown, names=names, below=True)

    def start_children_in_order(self) -> object:
        """Check all that is declared, then start the first child."""
        path, parent = self._path, self.ref.parent
        names: dict[str, str] = {}
        looked_over = parent is not None and parent.actor_class.is_supervisor and self.declares_by_itself()
        specs = declare(path, self.children)
        entries = check_children(path, specs, auto_shutdown=self.auto_shutdown, names=names, below=not looked_over)
        check_names_free(names, self.system.names)
        for entry in entries:
            self._table.add(entry.spec.id, entry)
        outcome = self.submit(Supervisor._start_all)
        return outcome if outcome is None or isinstance(outcome, Stop) else PENDING

    def _start_all(self) -> Flow[Stop | None]:
        done: list[Entry] = []
        for ident, entry in list(self._table.by_id.items()):
            error = yield from self.start_entry(ident, entry)
            if error is not None:
                self.report_start_failed(ident, error)
                for earlier in reversed(done):
                    yield from self.stop_entry(earlier)
                return Stop(Shutdown(FailedChild(str(ident), error.reason)))
            if entry.ref is None and entry.spec.options.restart == "temporary":
                self._table.remove(ident)
            done.append(entry)
        return None

    def after_flow(self) -> None:
        """When the flow was the start itself, the supervisor's own starter has waited for it."""
        if self.ref.is_starting():
            started(self.ref, None)

    def answer(self, wait: Any, value: object) -> object:  # Any: as Flowing.answer
        """Go on with a flow; the failure of the first one is the failure of the supervisor's start."""
        outcome = super().answer(wait, value)
        if isinstance(outcome, Stop) and self.ref.is_starting():
            fail_start(self.ref, outcome.reason)
            return None
        return outcome

    # What others may ask; all of them wait as long as the supervisor is busy. Like all calls they give up after 5.0 s
    # unless made with `within(seconds)`; OTP's wait for ever.

    @operation
    def start_child(self, spec: ChildSpec) -> Flow[Ref[Any] | None]:
        """Add a child at the end and start it; returns its ref, or None when its `init` said `Ignore`.

        Raises:
            SpecError: the spec cannot be used.
            NameTakenError: its id is that of a running child.
            ChildStateError: its id is that of a child that is not running: restart or delete that one.
            StartError: it did not start; its spec is not kept.

        OTP: supervisor:start_child/2.
        """
        entry = check_child(self._path, spec, self.auto_shutdown)
        path = f"{self._path}/{spec.id}"
        present = self._table.by_id.get(spec.id)
        if present is not None and present.ref is not None:
            raise NameTakenError(path, Exit("already_started"), spec.id, present.ref)
        if present is not None:
            raise ChildStateError(path, "already present", "use restart_child, or delete_child first")
        self._table.add(spec.id, entry)
        try:
            error = yield from self.start_entry(spec.id, entry)
            if error is not None:
                raise error
        except OtpyError:
            self._table.remove(spec.id)
            raise
        if entry.ref is None and spec.options.restart == "temporary":
            self._table.remove(spec.id)
        return entry.ref

    @operation
    def terminate_child(self, child_id: str) -> Flow[None]:
        """Stop one child and keep its spec, unless it is temporary; also ends its restart attempts.

        Those that a back-off of this child has kept waiting start now.

        The caller waits until the child has ended or its `shutdown` time (seconds) is over and it was killed; a killed
        one may still run as a zombie: Python cannot kill a thread.

        Raises:
            ChildNotFoundError: no child has this id; the message lists the ids that exist.

        OTP: supervisor:terminate_child/2.
        """
        entry = self.entry_of(child_id)
        others_wait = entry.due is not None
        entry.restarting = False
        yield from self.stop_entry(entry)
        if others_wait:
            yield from self.go_on_without(child_id)
        if entry.spec.options.restart == "temporary":
            self._table.remove(child_id)

    @operation
    def restart_child(self, child_id: str) -> Flow[Ref[Any] | None]:
        """Start a child that was stopped, at its old place; not counted as a restart.

        Raises:
            ChildNotFoundError: no child has this id.
            ChildStateError: it is running, or being restarted.
            StartError: it did not start; its spec is kept.

        OTP: supervisor:restart_child/2.
        """
        entry = self._stopped_entry(child_id, "terminate_child first")
        error = yield from self.start_entry(child_id, entry)
        if error is not None:
            raise self.by_hand_failed(child_id, entry, error)
        return entry.ref

    @operation
    def renew_child(self, child_id: str) -> Flow[Ref[Any] | None]:
        """Stop one child, if it runs, and start it again at its place; not counted as a restart. `otpy restart`.

        Raises:
            ChildNotFoundError: no child has this id.
            StartError: it did not start. One whose restart was due is tried again, one that was given up stays so, a
                temporary one is forgotten; any other stays stopped, and its supervisor does not start it.

        OTP: supervisor:terminate_child/2 followed by restart_child/2. Differs: it ends no attempts.
        """
        entry = self.entry_of(child_id)
        error = yield from self.renew(child_id, entry)
        if entry.ref is None and entry.spec.options.restart == "temporary":
            self._table.remove(child_id)
        if error is not None:
            raise self.by_hand_failed(child_id, entry, error)
        return entry.ref

    @query
    def delete_child(self, child_id: str) -> None:
        """Forget a child that was stopped.

        Raises:
            ChildNotFoundError: no child has this id.
            ChildStateError: it is running, or being restarted.

        OTP: supervisor:delete_child/2.
        """
        self._stopped_entry(child_id, "terminate_child first")
        self._table.remove(child_id)

    @query
    def get_childspec(self, child_id: str) -> ChildSpec:
        """A child's spec. Raises ChildNotFoundError. OTP: supervisor:get_childspec/2."""
        return self.entry_of(child_id).spec

    @query
    def which_children(self) -> list[ChildInfo]:
        """All children, last started first. OTP: supervisor:which_children/1."""
        return self._table.infos()

    @query
    def which_child(self, child_id: str) -> ChildInfo:
        """One child. Raises ChildNotFoundError. OTP: supervisor:which_child/2."""
        return info_of(child_id, self.entry_of(child_id))

    @query
    def count_children(self) -> ChildCounts:
        """How many children of each kind there are. OTP: supervisor:count_children/1."""
        return self._table.counts()

    def _stopped_entry(self, child_id: str, mend: str) -> Entry:
        entry = self.entry_of(child_id)
        if entry.restarting or entry.ref is not None:
            state = "restarting" if entry.restarting else "running"
            raise ChildStateError(f"{self._path}/{child_id}", state, mend)
        return entry

    # What children do.

    def child_ended(self, ref: Ref[Any], reason: Reason) -> Flow[Stop | None]:
        """Act on the end of a child. OTP: supervisor:restart_child/3, do_restart/3, do_auto_shutdown/2."""
        entry = self._table.holding(ref)
        if entry is None:
            return None
        entry.ref, entry.last_exit = None, reason
        options = entry.spec.options
        decided = self.verdict_on(entry, reason)
        self.system.history.ended(ref, reason, decided)
        if decided == "restart" or not is_clean(reason):
            self.report_terminated(ref.id, reason)
        yield from self.await_orphans(ref)
        if decided == "restart" and has_failed(self.system, ref):
            self.system.history.decide(self._me, ref.id, "kept")
            return None
        if decided == "restart":
            yield from self.move_if_stuck(entry, ref)
        if decided == "restart" and options.backoff is not None:
            return (yield from self.restart_later(ref, entry, reason))
        if decided == "restart":
            return (yield from self.restart(ref.id, entry, reason))
        if decided == "forget":
            self._table.remove(ref.id)
        return (yield from self._after_end(entry))

    def _after_end(self, entry: Entry) -> Flow[Stop | None]:
        """End, too, when the end of a significant child says so."""
        is_significant = entry.spec.options.significant
        if is_significant and ends_supervisor(self.auto_shutdown, significant_left=self._significant_left()):
            self.system.history.decide(self._me, entry.spec.id, "ended itself", self.auto_shutdown)
            return (yield from self.end_all(Shutdown()))
        return None

    def _significant_left(self) -> int:
        entries = self._table.entries()
        return sum(e.spec.options.significant and (e.ref is not None or e.restarting) for e in entries)

    def restart(self, ident: str | int, entry: Entry, reason: Reason) -> Flow[Stop | None]:
        """Start a child again, and those its end takes along; or give up. OTP: supervisor:restart/3."""
        limit = self.admit_restart(ident, entry, reason)
        if limit is not None:
            return (yield from self.refuse_restart(ident, entry, limit))
        yield from self._start_group((yield from self.stop_group(ident, entry)))
        return None

    def _start_group(self, group: Sequence[tuple[str | int, Entry]]) -> Flow[None]:
        for each, member in group:
            error = yield from self.start_entry(each, member)
            if error is not None:
                self.retry_later(each, member, error)
                return

    def give_up(self, ident: str | int, entry: Entry, limit: RestartLimit) -> Flow[Stop | None]:
        """As all supervisors; for a significant child this is its end."""
        yield from super().give_up(ident, entry, limit)
        return (yield from self._after_end(entry))

    def go_on_without(self, ident: str | int) -> Flow[None]:
        """Start those whom the child that was given up has kept waiting."""
        idents = list(self._table.by_id)
        group = affected(self.strategy, idents, idents.index(ident))
        members = [(each, self._table.by_id[each]) for each in group]
        waiting = [(each, one) for each, one in members if one.ref is None and not one.given_up and each != ident]
        yield from self._start_group(waiting)

    def _note_others(self, ident: str | int, others: Sequence[str | int]) -> None:
        """Have it remembered whom an exit takes along."""
        if others:
            paths = tuple([f"{self._path}/{other}" for other in others[:MAX_NAMES]])
            decide = self.system.history.decide
            decide(self._me, ident, "stopped others", self.strategy, others=paths, others_count=len(others))

    def stop_group(self, ident: str | int, entry: Entry) -> Flow[list[tuple[str | int, Entry]]]:
        """Stop whom a restart takes along, the last started first; returns who is to be started, in start order."""
        if self.strategy == "one_for_one":
            return [(ident, entry)]
        idents = list(self._table.by_id)
        group = affected(self.strategy, idents, idents.index(ident))
        self._note_others(ident, [other for other in reversed(group) if self._table.by_id[other].ref is not None])
        for other in reversed(group):
            member = self._table.by_id[other]
            if member.given_up:
                continue  # whoever starts it does so by hand
            member.restarting = False  # it belongs to this round now
            yield from self.stop_entry(member)
            if member.spec.options.restart == "temporary":
                self._table.remove(other)
        members = [(each, self._table.by_id[each]) for each in group if each in self._table.by_id]
        return [(each, member) for each, member in members if not member.given_up]
