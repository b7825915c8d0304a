"""What all supervisors do: start one child, count restarts, report, and act on what arrives."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from otpy.actors.children import ChildTable, Entry
from otpy.actors.declared import misspelt
from otpy.actors.flow import Flow, Wait, deliver_answer
from otpy.actors.gentle import Gentle
from otpy.core.decision import Fail, Ignore, NoReply, Stop
from otpy.core.intensity import Window, admit
from otpy.core.reason import BadReturn, BadSpec, Reason, Restart, RestartLimit, Shutdown
from otpy.core.suggest import did_you_mean
from otpy.core.text import safe_repr, safe_str, shorten
from otpy.errors import ChildNotFoundError, IgnoredError, SpecError, StartError, UnknownRequestError
from otpy.events.supervision import ChildStarted, ChildStartFailed, ChildTerminated, RestartLimitReached
from otpy.runtime.birth import begin, begin_inline, expire_start
from otpy.runtime.mailbox import put
from otpy.runtime.spawn import new_ref, start_arguments

if TYPE_CHECKING:
    from otpy.core.spec import ChildSpec
    from otpy.runtime.caller import Caller
    from otpy.runtime.links import ExitSignal
    from otpy.runtime.ref import Ref

__all__ = ["Keeper"]

TOLD = 10
"""Restarts that the exit of a supervisor tells of."""


class Keeper(Gentle):
    """The common part of `Supervisor` and `DynamicSupervisor`."""

    is_supervisor: ClassVar[bool] = True
    names_children: ClassVar[bool] = True
    otpy_may_loop: ClassVar[bool] = False

    max_restarts: int = 3
    """Restarts it bears within `max_seconds`; one more and it gives up. As in Elixir; OTP's own default is 1."""
    max_seconds: float = 5.0
    """The window in which restarts are counted, in seconds. The time children take to start and stop passes in it, so
    one that takes longer than this to crash, stop and start again is never restarted too often."""

    _misspelt: ClassVar[str | None] = None
    _table: ChildTable
    _stamps: list[float]
    _recent: tuple[tuple[float, str | int, Reason], ...]
    _path: str
    _inline: Wait

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Look for misspelt settings once for each class: comparing words takes longer than a start."""
        super().__init_subclass__(**kwargs)
        cls._misspelt = misspelt(cls)

    @classmethod
    def make(cls, ref: Any) -> Any:  # Any: as Actor.make
        """A new object without children; the inspector may ask for them at once."""
        keeper = super().make(ref)
        keeper._table = ChildTable()  # noqa: SLF001 - its own class
        return keeper

    def boot(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """Run `init`, check the flags, then start the children."""
        self._stamps = []
        self._recent = ()
        self._stops = {}
        self._me = self.ref
        self._path = self.ref.path
        self._inline = Wait()
        match self.otpy_init(*args, **kwargs):
            case None:
                pass
            case (Ignore() | Stop() | Fail()) as decision:
                return decision
            case other:
                return Stop(BadReturn(safe_repr(other)))
        try:
            self.check_flags(self._path)
            return self.start_children_in_order()
        except SpecError as error:
            # A mistake in a declaration is no crash: only its starter hears of it.
            return Fail(BadSpec(error.path, error.problem))

    def otpy_init(self, *args: Any, **kwargs: Any) -> object:
        """Run a subclass's own `__init__`, without arguments, then `init`; returns what that said."""
        if self._own_init:
            type(self).__init__(self)
        return self.init(*args, **kwargs)

    def start_children_in_order(self) -> object:
        """Start what is declared; a dynamic supervisor declares nothing."""
        return None

    def init(self, *args: Any, **kwargs: Any) -> object:
        """Override to take arguments; runs before the children are declared.

        Returns None, `Ignore()`, `Stop(reason)` or `Fail(reason)`.
        """
        if args or kwargs:
            text = f"{type(self).__name__}.init takes no arguments"
            raise TypeError(text)
        return None

    def terminate(self, reason: Reason) -> None:
        """Override to run code after all children have ended."""

    def check_flags(self, path: str) -> None:
        """Refuse flags that cannot work, before anything starts. Raises SpecError."""
        if self._misspelt is not None:
            raise SpecError(path, self._misspelt)
        problem = Window(self.max_restarts, self.max_seconds).problem()
        if problem is not None:
            raise SpecError(path, problem)
        if not self.trap_exit:
            raise SpecError(path, "trap_exit=False: a supervisor must hear of its children's ends")

    @classmethod
    def check_declared(cls, path: str, spec: ChildSpec, names: dict[str, str]) -> None:
        """Refuse what a supervisor that does not run yet declares, as far as it can be known. Raises SpecError."""

    @classmethod
    def declares_by_itself(cls) -> bool:
        """Whether nothing of the user's has to run before it can say what it declares."""
        return cls.init is Keeper.init and not cls._own_init

    @classmethod
    def sealed_stop(cls) -> float | None:
        """Of a part of otpy's own, checked as a whole, so that a survey passes over what is below: how long that stops.

        Seconds at most; None for a supervisor that is surveyed.
        """
        return None

    @classmethod
    def sealed_work(cls) -> float:
        """Of these seconds, those for work that a drain has waited for already, before anything is stopped."""
        return 0.0

    def otpy_children(self) -> ChildTable:
        """The table, for the inspector."""
        return self._table

    def entry_of(self, child_id: str) -> Entry:
        """A child by its id. Raises ChildNotFoundError, which names those that exist."""
        entry = self._table.by_id.get(child_id) if isinstance(child_id, str) else None
        if entry is None:
            known = [str(ident) for ident in list(self._table.by_id)[:50]]
            raise ChildNotFoundError(
                self._path, child_id, did_you_mean(safe_str(child_id), known) if known else "it has none"
            )
        return entry

    # Starting.

    def start_entry(self, ident: str | int, entry: Entry) -> Flow[StartError | None]:
        """Start one child; returns why it did not start. An `Ignore` is no failure and leaves it without a process."""
        me = self._me
        system = me.system
        cls = entry.cls
        spec = entry.spec
        try:
            ref = new_ref(system, cls, spec, ident, me)
        except StartError as refusal:
            return refusal
        entry.ref = ref
        entry.restarting = False
        args, kwargs = start_arguments(cls, spec)
        timeout = spec.options.start_timeout
        failure: StartError | None
        if timeout is None and not cls.is_supervisor and ref.home is system.pool:
            # Nobody could say that it takes too long, so it may as well run here; that saves two changes of actors.
            wait = self._inline
            wait.first = ref
            me.waiting = wait  # its call to this supervisor is refused at once
            failure = begin_inline(ref, args, kwargs)
            me.waiting = None
        else:
            failure = yield from self._handshake(ref, args, kwargs, timeout)
        if failure is not None:
            entry.ref = None
            yield from self.await_orphans(ref)
            return None if isinstance(failure, IgnoredError) else failure
        starts = entry.starts = entry.starts + 1
        if system.events.wants(ChildStarted, logging.DEBUG):
            system.events.emit(ChildStarted(path=f"{self._path}/{ident}", restarts=starts - 1))
        return None

    def _handshake(
        self, ref: Ref[Any], args: tuple[Any, ...], kwargs: dict[str, Any], timeout: float | None
    ) -> Flow[StartError | None]:
        """Have a child start in a turn of its own, and wait for it."""
        wait = self._me.waiting = Wait(ref)
        begin(ref, args, kwargs, partial(self._tell, wait))
        timer = None if timeout is None else self.system.timers.after(timeout, expire_start, ref, timeout)
        failure: StartError | None = yield wait
        if timer is not None:
            timer.cancel()
        return failure

    def _tell(self, wait: Wait, outcome: object) -> None:
        put(self.ref, (deliver_answer, wait, outcome))

    def report_start_failed(self, ident: str | int, error: StartError) -> None:
        """Say that a child did not start."""
        self.system.events.emit(ChildStartFailed(path=f"{self._path}/{ident}", reason=error.reason))

    def by_hand_failed(self, ident: str | int, entry: Entry, error: StartError) -> StartError:
        """A start at somebody's wish has failed: its error, which also says what became of the child."""
        if entry.restarting:
            return error.and_then("its supervisor tries again")
        is_kept = ident in self._table.by_id
        decide = self.system.history.decide
        decide(self._me, ident, "start failed", str(error.reason))
        decide(self._me, ident, "kept" if is_kept else "forgot")
        if not is_kept:
            return error.and_then("its supervisor has forgotten it")
        until = "until it, its group or its supervisor is restarted"
        return error.and_then("it stays given up" if entry.given_up else f"it stays stopped {until}")

    # Restarting.

    def admit_restart(self, ident: str | int, entry: Entry, reason: Reason) -> RestartLimit | None:
        """Count one restart, apart if the child has its own limit; returns the limit when it is one too many."""
        own = entry.spec.options.limit
        return self._admit_shared(ident, entry, reason) if own is None else self.admit_own(ident, entry, reason, own)

    def _admit_shared(self, ident: str | int, entry: Entry, reason: Reason) -> RestartLimit | None:
        window = Window(self.max_restarts, self.max_seconds)
        now = self.system.clock.now()
        allowed = admit(window, self._stamps, now)
        what = "restart" if allowed else "gave up"
        self.system.history.decide(self._me, ident, what, None, entry.starts, len(self._stamps), window)
        before = min(len(self._stamps) - 1, TOLD)  # each restart has its stamp
        recent = self._recent[-before:] if before else ()
        if allowed:
            self._recent = (*recent, (now, ident, reason))
            return None
        told = tuple(Restart(str(child), shorten(str(why), 80), now - then) for then, child, why in recent)
        limit = RestartLimit(self._path, str(ident), self.max_restarts, self.max_seconds, reason, told)
        self._report_limit(limit)
        return limit

    def _report_limit(self, limit: RestartLimit) -> None:
        self.system.events.emit(
            RestartLimitReached(
                path=limit.path,
                child=limit.child,
                max_restarts=limit.max_restarts,
                max_seconds=limit.max_seconds,
                reason=limit.reason,
                restarts=limit.restarts,
            )
        )

    def refuse_restart(self, ident: str | int, entry: Entry, limit: RestartLimit) -> Flow[Stop | None]:
        """Act on one restart too many: end, or give up a child that has a limit of its own."""
        own = entry.spec.options.limit
        if own is not None and own.then == "give_up":
            return (yield from self.give_up(ident, entry, limit))
        if own is not None:
            self._report_limit(limit)
        self._me.extras().gave_up = limit  # its children end with a plain `Shutdown`; who calls one is told why
        return (yield from self.end_all(Shutdown(limit)))

    def report_terminated(self, ident: str | int, reason: Reason) -> None:
        """Say that a child ended by itself."""
        self.system.events.emit(ChildTerminated(path=f"{self._path}/{ident}", reason=reason))

    def retry_later(self, ident: str | int, entry: Entry, error: StartError) -> None:
        """A restart failed: try again after what else waits, as OTP does by a cast to itself."""
        self.report_start_failed(ident, error)
        self.system.history.attempt_failed(self._me, ident, entry.starts)
        self.system.history.decide(self._me, ident, "restart failed", str(error.reason))
        backoff = entry.spec.options.backoff
        if backoff is not None:
            self.pause(ident, entry, backoff, error.reason)
            return
        entry.restarting = True
        put(self.ref, (deliver_retry, ident, error.reason))

    def try_again(self, ident: str | int, reason: Reason) -> Flow[Stop | None]:
        """Try a failed restart again, unless somebody ended the attempts."""
        entry = self._table.by_id.get(ident)
        if entry is None or not entry.restarting:
            return None
        return (yield from self.restart(ident, entry, reason))

    def renew(self, ident: str | int, entry: Entry) -> Flow[StartError | None]:
        """Stop a child, if it runs, and start it again at somebody's wish; returns why it did not start.

        When it does not, what was pending goes on: one whose restart was due is tried again, one that was given up
        stays so. It is not counted as a restart.
        """
        was_due, was_given_up = entry.restarting, entry.given_up
        entry.restarting = False
        yield from self.stop_entry(entry)
        error = yield from self.start_entry(ident, entry)
        if error is not None and was_given_up:
            entry.give_up()
        elif error is not None and was_due:
            self.retry_later(ident, entry, error)
        elif was_due:
            yield from self.go_on_without(ident)
        return error

    # What arrives.

    def on_exit_signal(self, signal: ExitSignal) -> object:
        """The parent's exit ends it, a child's end is acted on, all others are ignored. OTP: supervisor:handle_info/2.

        Differs: OTP takes a signal that a living child sent for its end, and starts a second one.
        """
        if signal.sender is self._me.parent:
            return self.submit(type(self).end_all, signal.reason)
        ended = signal.sender.reason
        if ended is None:  # sent by hand, and whoever sent it lives on: to start it again would make two of it
            return None
        return self.submit(type(self).child_ended, signal.sender, ended)

    def on_stop_request(self, reason: Reason) -> object:
        """Stop all children, then end."""
        return self.submit(type(self).end_all, reason)

    def on_info(self, message: Any) -> object:
        """Report what a supervisor does not expect."""
        self.unknown(message)
        return None

    def on_request(self, message: Any, caller: Caller | None) -> object:
        """Refuse raw requests; a supervisor has only those of its class."""
        if caller is not None:
            caller.refuse(UnknownRequestError(self._path, safe_repr(message), "a supervisor takes no raw requests"))
        return NoReply()

    def end_all(self, reason: Reason) -> Flow[Stop]:
        """Stop all children, the last started first, then end."""
        self._me.extras().stopping = True
        for entry in reversed(self._table.entries()):
            yield from self.stop_entry(entry)
        return Stop(reason)

    def child_ended(self, ref: Ref[Any], reason: Reason) -> Flow[Stop | None]:
        """Act on the end of a child."""
        raise NotImplementedError


def deliver_retry(actor: Keeper, ident: str | int, reason: Reason) -> object:
    """Hand over the reminder that a restart has failed."""
    return actor.submit(Keeper.try_again, ident, reason)
