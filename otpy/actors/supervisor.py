"""`Supervisor`: keeps declared children alive, in order. OTP: supervisor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from otpy.actors.children import ChildCounts, ChildInfo, Entry, info_of
from otpy.actors.flow import Flow, operation
from otpy.actors.keeper import Keeper
from otpy.core.decision import Decision, Stop
from otpy.core.reason import Exit, FailedChild, Reason, Shutdown
from otpy.core.spec import ChildSpec, check_spec, check_specs
from otpy.core.strategy import AutoShutdown, Strategy, affected, ends_supervisor, verdict
from otpy.core.suggest import did_you_mean
from otpy.errors import ChildStateError, NameTakenError, SpecError, StartError
from otpy.runtime.lifecycle import PENDING, fail_start, started
from otpy.runtime.mailbox import put
from otpy.runtime.spawn import actor_class

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otpy.runtime.ref import Ref

__all__ = ["Supervisor"]

STRATEGIES = ("one_for_one", "one_for_all", "rest_for_one")
AUTO_SHUTDOWNS = ("never", "any_significant", "all_significant")


class Supervisor(Keeper):
    """Starts its children in order, stops them in reverse, and starts again what ends.

    It never blocks a thread while a child starts or stops, except in the `init` of a child without `start_timeout`,
    which runs on its thread. OTP: https://www.erlang.org/doc/apps/stdlib/supervisor.html.
    """

    strategy: Strategy = "one_for_one"
    """Whom a restart takes along: nobody, all, or those started later."""
    auto_shutdown: AutoShutdown = "never"
    """Whether the end of significant children ends the supervisor."""
    _settings: ClassVar[dict[str, Sequence[str]]] = {"strategy": STRATEGIES, "auto_shutdown": AUTO_SHUTDOWNS}

    def children(self) -> list[ChildSpec]:
        """Override: declare the children, in start order. Called once for each incarnation, after `init`."""
        return []

    def check_flags(self) -> None:
        """Refuse flags that cannot work, before anything starts."""
        super().check_flags()
        for setting, known in self._settings.items():
            value = getattr(self, setting)
            if value not in known:
                raise SpecError(self.ref.path, f"{setting}={value!r}: {did_you_mean(str(value), known)}")

    def start_children_in_order(self) -> object:
        """Check all specs, then start the first child."""
        path = self.ref.path
        specs = check_specs(path, self.children(), auto_shutdown=self.auto_shutdown)
        for spec in specs:
            self._table.add(spec.id, Entry(spec, actor_class(f"{path}/{spec.id}", spec.start)))
        outcome = self.submit(Supervisor._start_all)
        if outcome is None or isinstance(outcome, Stop):
            return outcome
        return PENDING

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

    def after_flow(self, outcome: object) -> Decision | None:
        """When the flow was the start itself, the supervisor's own starter has waited for it."""
        if self.ref.is_starting():
            started(self.ref, None)
        return None

    def answer(self, wait: Any, value: object) -> object:  # Any: as Flowing.answer
        """Go on with a flow; the failure of the first one is the failure of the supervisor's start."""
        outcome = super().answer(wait, value)
        if isinstance(outcome, Stop) and self.ref.is_starting():
            fail_start(self.ref, outcome.reason)
            return None
        return outcome

    # What others may ask; all of them wait as long as the supervisor is busy.

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
        check_spec(self.ref.path, spec, auto_shutdown=self.auto_shutdown)
        path = f"{self.ref.path}/{spec.id}"
        present = self._table.by_id.get(spec.id)
        if present is not None and present.ref is not None:
            raise NameTakenError(path, Exit("already_started"), spec.id, present.ref)
        if present is not None:
            raise ChildStateError(path, "already present", "use restart_child, or delete_child first")
        entry = Entry(spec, actor_class(path, spec.start))
        self._table.add(spec.id, entry)
        error = yield from self.start_entry(spec.id, entry)
        if error is not None or (entry.ref is None and spec.options.restart == "temporary"):
            self._table.remove(spec.id)
        if error is not None:
            raise error
        return entry.ref

    @operation
    def terminate_child(self, child_id: str) -> Flow[None]:
        """Stop one child and keep its spec, unless it is temporary; also ends its restart attempts.

        The caller waits until the child has ended or its `shutdown` time (seconds) is over and it was killed; a killed
        one may still run as a zombie: Python cannot kill a thread.

        Raises:
            ChildNotFoundError: no child has this id; the message lists the ids that exist.

        OTP: supervisor:terminate_child/2.
        """
        entry = self.entry_of(child_id)
        entry.restarting = False
        yield from self.stop_entry(entry)
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
            raise error
        return entry.ref

    @operation
    def delete_child(self, child_id: str) -> None:
        """Forget a child that was stopped.

        Raises:
            ChildNotFoundError: no child has this id.
            ChildStateError: it is running, or being restarted.

        OTP: supervisor:delete_child/2.
        """
        self._stopped_entry(child_id, "terminate_child first")
        self._table.remove(child_id)

    @operation
    def get_childspec(self, child_id: str) -> ChildSpec:
        """A child's spec. Raises ChildNotFoundError. OTP: supervisor:get_childspec/2."""
        return self.entry_of(child_id).spec

    @operation
    def which_children(self) -> list[ChildInfo]:
        """All children, last started first. OTP: supervisor:which_children/1."""
        return self._table.infos()

    @operation
    def which_child(self, child_id: str) -> ChildInfo:
        """One child. Raises ChildNotFoundError. OTP: supervisor:which_child/2."""
        return info_of(child_id, self.entry_of(child_id))

    @operation
    def count_children(self) -> ChildCounts:
        """How many children of each kind there are. OTP: supervisor:count_children/1."""
        return self._table.counts()

    def _stopped_entry(self, child_id: str, mend: str) -> Entry:
        entry = self.entry_of(child_id)
        if entry.restarting or entry.ref is not None:
            state = "restarting" if entry.restarting else "running"
            raise ChildStateError(f"{self.ref.path}/{child_id}", state, mend)
        return entry

    # What children do.

    def child_ended(self, ref: Ref[Any], reason: Reason) -> Flow[Stop | None]:
        """Act on the end of a child. OTP: supervisor:restart_child/3, do_restart/3, do_auto_shutdown/2."""
        entry = self._table.holding(ref)
        if entry is None:
            return None
        entry.ref, entry.last_exit = None, reason
        options = entry.spec.options
        decided = verdict(options.restart, reason)
        if decided == "restart":
            self.report_terminated(ref.id, reason)
            return (yield from self._restart(str(ref.id), entry, reason))
        if decided == "forget":
            if not isinstance(reason, Shutdown) and str(reason) != "normal":
                self.report_terminated(ref.id, reason)
            self._table.remove(ref.id)
        left = sum(e.spec.options.significant and (e.ref is not None or e.restarting) for e in self._table.entries())
        if options.significant and ends_supervisor(self.auto_shutdown, significant_left=left):
            return (yield from self.end_all(Shutdown()))
        return None

    def _restart(self, ident: str, entry: Entry, reason: Reason) -> Flow[Stop | None]:
        limit = self.admit_restart(ident, reason)
        if limit is not None:
            return (yield from self.end_all(Shutdown(limit)))
        idents = list(self._table.by_id)
        group = affected(self.strategy, idents, idents.index(ident))
        for other in reversed(group):
            yield from self._stop_for_group(other)
        for each in group:
            member = self._table.by_id.get(each)
            if member is None:
                continue
            member.restarts += each == ident or member.last_exit is not None
            error = yield from self.start_entry(each, member)
            if error is not None:
                self._retry_later(str(each), member, error)
                return None
        return None

    def _stop_for_group(self, ident: str | int) -> Flow[None]:
        entry = self._table.by_id[ident]
        yield from self.stop_entry(entry)
        if entry.spec.options.restart == "temporary":
            self._table.remove(ident)

    def _retry_later(self, ident: str, entry: Entry, error: StartError) -> None:
        """A restart failed: try again after what else waits, as OTP does by a cast to itself."""
        self.report_start_failed(ident, error)
        entry.restarting = True
        put(self.ref, (deliver_retry, ident, error.reason))

    def try_again(self, ident: str, reason: Reason) -> Flow[Stop | None]:
        """Try a failed restart again, unless somebody ended the attempts."""
        entry = self._table.by_id.get(ident)
        if entry is None or not entry.restarting:
            return None
        return (yield from self._restart(ident, entry, reason))


def deliver_retry(actor: Supervisor, ident: str, reason: Reason) -> object:
    """Hand over the reminder that a restart has failed."""
    return actor.submit(Supervisor.try_again, ident, reason)
