"""What all supervisors do: start one child, stop one or many, count restarts, report."""

from __future__ import annotations

import logging
import math
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from otpy.actors.children import ChildTable, Entry
from otpy.actors.flow import Edge, Flow, Flowing, Wait, deliver_answer
from otpy.core.decision import Stop
from otpy.core.intensity import Window, admit
from otpy.core.reason import Killed, Normal, Reason, RestartLimit, Shutdown
from otpy.core.suggest import did_you_mean
from otpy.errors import ChildNotFoundError, IgnoredError, SpecError, StartError
from otpy.events import ChildStarted, ChildStartFailed, ChildTerminated, ChildUnstopped, RestartLimitReached
from otpy.runtime.lifecycle import begin, begin_inline, exit_signal, kill
from otpy.runtime.links import Down, ExitSignal, Monitor, drop_link, watch
from otpy.runtime.mailbox import put
from otpy.runtime.spawn import new_ref, start_arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otpy.runtime.ref import Ref
    from otpy.runtime.timers import Timer

__all__ = ["Keeper"]


class Keeper(Flowing):
    """The common part of `Supervisor` and `DynamicSupervisor`."""

    is_supervisor: ClassVar[bool] = True
    names_children: ClassVar[bool] = True

    max_restarts: int = 3
    """Restarts it bears within `max_seconds`; one more and it gives up. As in Elixir; OTP's own default is 1."""
    max_seconds: float = 5.0
    """The window in which restarts are counted, in seconds."""

    _table: ChildTable
    _stamps: tuple[float, ...]

    def boot(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """Run the user's `init`, check the flags, then start the children."""
        self._table = ChildTable()
        self._stamps = ()
        self._me = self.ref
        self._path = self.ref.path
        self._edge = Edge(self.ref)
        self._stops: dict[Monitor, Wait] = {}
        decision = self.init(*args, **kwargs)
        if decision is not None:
            return decision
        self.check_flags()
        return self.start_children_in_order()

    def start_children_in_order(self) -> object:
        """Start what is declared; a dynamic supervisor declares nothing."""
        return None

    def init(self, *args: Any, **kwargs: Any) -> object:
        """Override to take arguments; runs before the children are declared. Returns None or a decision."""
        if args or kwargs:
            text = f"{type(self).__name__}.init takes no arguments"
            raise TypeError(text)
        return None

    def terminate(self, reason: Reason) -> None:
        """Override to run code after all children have ended."""

    def check_flags(self) -> None:
        """Refuse flags that cannot work, before anything starts."""
        path = self.ref.path
        if type(self.max_restarts) is not int or self.max_restarts < 0:
            raise SpecError(path, f"max_restarts={self.max_restarts!r}: a whole number >= 0")
        window = self.max_seconds
        if isinstance(window, bool) or not isinstance(window, int | float) or not window > 0 or math.isnan(window):
            raise SpecError(path, f"max_seconds={window!r}: seconds > 0")

    def otpy_children(self) -> ChildTable:
        """The table, for the inspector."""
        return self._table

    def entry_of(self, child_id: str) -> Entry:
        """A child by its id. Raises ChildNotFoundError, which names those that exist."""
        entry = self._table.by_id.get(child_id)
        if entry is None:
            hint = did_you_mean(str(child_id), map(str, list(self._table.by_id)[:50])) if len(self._table) else "none"
            raise ChildNotFoundError(self.ref.path, child_id, hint)
        return entry

    # Starting.

    def start_entry(self, ident: str | int, entry: Entry) -> Flow[StartError | None]:
        """Start one child; returns why it did not start. `Ignore` is no failure: it leaves the child without process."""
        me = self._me
        system = me.system
        cls = entry.cls
        spec = entry.spec
        try:
            ref = new_ref(system, cls, spec, ident, me)
        except StartError as error:
            return error
        entry.ref = ref
        entry.restarting = False
        args, kwargs = start_arguments(cls, spec)
        timeout = spec.options.start_timeout
        failure: StartError | None
        if timeout is None and not cls.is_supervisor and ref.home is system.pool:
            # Nobody could say that it takes too long, so it may as well run here; that saves two changes of actors.
            self._edge.target = ref
            me.waiting = self._edge
            failure = begin_inline(ref, args, kwargs)
            me.waiting = None
        else:
            wait = Wait(ref)
            begin(ref, args, kwargs, partial(self._tell, wait))
            if timeout is not None:
                system.expire_start_after(ref, timeout)
            failure = yield wait
        if failure is not None:
            entry.ref = None
            return None if isinstance(failure, IgnoredError) else failure
        if system.events.wants(ChildStarted, logging.DEBUG):
            system.events.emit(ChildStarted(path=f"{self._path}/{ident}", restarts=entry.restarts))
        return None

    def _tell(self, wait: Wait, outcome: object) -> None:
        put(self.ref, (deliver_answer, wait, outcome))

    def report_start_failed(self, ident: str | int, error: StartError) -> None:
        """Say that a child did not start."""
        self.system.events.emit(ChildStartFailed(path=f"{self.ref.path}/{ident}", reason=error.reason))

    # Stopping.

    def stop_entry(self, entry: Entry) -> Flow[None]:
        """Stop one child, and wait until it has ended or its time is over and it was killed."""
        yield from self.stop_together([entry])

    def stop_together(self, entries: Sequence[Entry]) -> Flow[None]:
        """Stop several children at once; each has its own time, all are told before the first is waited for."""
        wait = Wait()
        timers: list[Timer] = []
        deadlines: dict[float, list[Ref[Any]]] = {}
        stopping = [(entry, entry.ref) for entry in entries if entry.ref is not None]
        for entry, ref in stopping:
            entry.ref = None
            if not self._ask_to_end(entry, ref, wait):
                deadlines.setdefault(entry.shutdown, []).append(ref)
        for seconds, late in deadlines.items():
            if seconds != math.inf:
                timers.append(self.system.timers.after(seconds, self._tell, wait, late))
        while wait.targets:
            late = yield wait
            for ref in late or ():
                if ref in wait.targets:
                    kill(ref)
        for timer in timers:
            timer.cancel()
        for entry, ref in stopping:
            self._note_end(entry, ref)

    def _ask_to_end(self, entry: Entry, ref: Ref[Any], wait: Wait) -> bool:
        """Tell one child to end; True when it has ended already. A monitor waits for it: it may have unlinked itself."""
        if ref.reason is None and entry.shutdown < 0:
            kill(ref)
        elif ref.reason is None:
            drop_link(self.ref, ref)
            exit_signal(ref, self.ref, Shutdown())
        if ref.reason is not None:
            return True
        monitor = Monitor(ref, ref, self.ref)
        self._stops[monitor] = wait
        wait.targets.add(ref)
        watch(monitor)
        return False

    def _note_end(self, entry: Entry, ref: Ref[Any]) -> None:
        reason = ref.reason
        assert reason is not None  # noqa: S101 - it was waited for
        entry.last_exit = reason
        if not _is_proper_end(entry, reason):
            self.system.events.emit(ChildUnstopped(path=ref.path, reason=reason))

    def on_down(self, down: Down) -> object:
        """Note the end of a child that was told to stop."""
        wait = self._stops.pop(down.monitor, None)
        if wait is None:
            return self.on_info(down)
        wait.targets.discard(down.target)  # type: ignore[arg-type]  # these monitors watch refs
        return self.answer(wait, ()) if not wait.targets else None

    # Restarting.

    def admit_restart(self, ident: str | int, reason: Reason) -> RestartLimit | None:
        """Count one restart; returns the limit when it is one too many."""
        window = Window(self.max_restarts, self.max_seconds)
        self._stamps, allowed = admit(window, self._stamps, self.system.clock.now())
        if allowed:
            return None
        limit = RestartLimit(self.ref.path, str(ident), self.max_restarts, self.max_seconds, reason)
        self.system.events.emit(
            RestartLimitReached(
                path=limit.path,
                child=limit.child,
                max_restarts=limit.max_restarts,
                max_seconds=limit.max_seconds,
                reason=reason,
            )
        )
        return limit

    def report_terminated(self, ident: str | int, reason: Reason) -> None:
        """Say that a child ended by itself."""
        self.system.events.emit(ChildTerminated(path=f"{self.ref.path}/{ident}", reason=reason))

    # What arrives.

    def on_exit_signal(self, signal: ExitSignal) -> object:
        """The parent's exit ends it, a child's is acted on, all others are ignored. OTP: supervisor:handle_info/2."""
        if signal.sender is self.ref.parent:
            return self.submit(type(self).end_all, signal.reason)
        return self.submit(type(self).child_ended, signal.sender, signal.reason)

    def on_stop_request(self, reason: Reason) -> object:
        """Stop all children, then end."""
        return self.submit(type(self).end_all, reason)

    def on_info(self, message: Any) -> object:
        """Report what a supervisor does not expect."""
        self.unknown(message)
        return None

    def end_all(self, reason: Reason) -> Flow[Stop]:
        """Stop all children, the last started first, then end."""
        for entry in reversed(self._table.entries()):
            yield from self.stop_entry(entry)
        return Stop(reason)

    def child_ended(self, ref: Ref[Any], reason: Reason) -> Flow[Stop | None]:
        """Act on the end of a child."""
        raise NotImplementedError


def _is_proper_end(entry: Entry, reason: Reason) -> bool:
    """Whether a child that was told to stop ended as it should. OTP: supervisor:shutdown/1."""
    if entry.shutdown < 0:
        return isinstance(reason, Killed)
    if isinstance(reason, Shutdown) and reason.detail is None:
        return True
    return entry.spec.options.restart != "permanent" and isinstance(reason, Shutdown | Normal)
