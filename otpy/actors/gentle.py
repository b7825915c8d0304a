"""Gentle restarts: after a pause that grows, and within a limit of the child's own.

A child has neither unless its spec says so, and then costs nothing of this: its entry is a plain `Entry`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.actors.children import ChildTable, Entry
from otpy.actors.stopping import Stopping
from otpy.core.backoff import delay, is_healthy
from otpy.core.intensity import admit
from otpy.core.reason import RestartLimit
from otpy.core.seconds import in_seconds
from otpy.events.supervision import ChildGivenUp, RestartDelayed
from otpy.runtime.mailbox import tick

if TYPE_CHECKING:
    from otpy.actors.flow import Flow
    from otpy.core.backoff import Backoff
    from otpy.core.decision import Stop
    from otpy.core.intensity import Limit
    from otpy.core.reason import Reason
    from otpy.core.spec import ChildSpec
    from otpy.runtime.actor import Actor
    from otpy.runtime.ref import Ref
    from otpy.runtime.timers import Timer

__all__ = ["Gentle", "GentleEntry", "entry_for"]


def entry_for(spec: ChildSpec, cls: type[Actor]) -> Entry:
    """A child that has not been started, with as much memory as its options need."""
    options = spec.options
    return Entry(spec, cls) if options.backoff is None and options.limit is None else GentleEntry(spec, cls)


class Pause:
    """The time before one attempt; whoever ends the attempts takes it away."""

    __slots__ = ("due", "reason", "timer")

    def __init__(self, due: float, reason: Reason) -> None:
        self.due = due
        self.reason = reason
        self.timer: Timer | None = None


class GentleEntry(Entry):
    """One child with a back-off, a limit of its own, or both."""

    __slots__ = ("_given_up", "_is_restarting", "attempts", "pause", "stamps")

    def __init__(self, spec: ChildSpec, cls: type[Actor]) -> None:
        """A child that has not been started."""
        self._given_up = self._is_restarting = False
        self.pause: Pause | None = None
        self.attempts = 0  # since it was last healthy
        self.stamps: list[float] = []
        super().__init__(spec, cls)

    @property
    def restarting(self) -> bool:
        """Whether its restart is due later, or has failed and is tried again."""
        return self._is_restarting

    @restarting.setter
    def restarting(self, value: bool) -> None:
        """What ends the attempts, a start as well as a stop, also ends the pause and that it was given up."""
        self._is_restarting = value
        if not value:
            self._given_up = False
            self.end_pause()

    @property
    def due(self) -> float | None:
        """When the next attempt is made, by the system's clock."""
        pause = self.pause
        return None if pause is None else pause.due

    @property
    def given_up(self) -> bool:
        """Whether its own limit was passed, and nobody has started it since."""
        return self._given_up

    def give_up(self) -> None:
        """Have no process until somebody starts it by hand, who then gets a new count."""
        self.restarting = False
        self._given_up = True
        self.attempts, self.stamps = 0, []

    def end_pause(self) -> None:
        """Wait no longer."""
        pause, self.pause = self.pause, None
        if pause is not None and pause.timer is not None:
            pause.timer.cancel()


class Gentle(Stopping):
    """The part of a supervisor that waits before restarts, and gives up single children."""

    _table: ChildTable
    _path: str

    def restart_later(self, ref: Ref[Any], entry: Entry, reason: Reason) -> Flow[Stop | None]:
        """Stop at once whom the restart takes along, and start all of them when the pause is over, as one round."""
        ran = self.system.clock.now() - ref.started_at  # before others take their time to stop
        yield from self.stop_group(ref.id, entry)
        backoff = entry.spec.options.backoff
        assert isinstance(entry, GentleEntry)  # noqa: S101 - its options say so
        assert backoff is not None  # noqa: S101 - the caller has looked
        if is_healthy(backoff, ran):
            entry.attempts = 0
        self.pause(ref.id, entry, backoff, reason)
        return None

    def pause(self, ident: str | int, entry: Entry, backoff: Backoff, reason: Reason) -> None:
        """Make the next attempt when its time has come; requests and exits are served meanwhile."""
        assert isinstance(entry, GentleEntry)  # noqa: S101 - it has a back-off
        system, ref = self.system, self.ref
        seconds = delay(backoff, entry.attempts, system.random.random())
        entry.attempts += 1
        entry.restarting = True
        pause = entry.pause = Pause(system.clock.now() + seconds, reason)
        # A timer of this incarnation: it dies with the supervisor.
        message = (deliver_attempt, ident, pause)
        pause.timer = system.timers.after(seconds, tick, ref, message, owner=ref.extras().timers)
        system.history.decide(ref, ident, "waits", f"{in_seconds(seconds)}")
        system.events.emit(RestartDelayed(path=f"{self._path}/{ident}", seconds=seconds, reason=reason))

    def attempt(self, ident: str | int, pause: Pause) -> Flow[Stop | None]:
        """The pause is over, unless somebody has ended it before."""
        entry = self._table.by_id.get(ident)
        if not isinstance(entry, GentleEntry) or entry.pause is not pause:
            return None
        entry.pause = None
        return (yield from self.restart(ident, entry, pause.reason))

    def admit_own(self, ident: str | int, entry: Entry, reason: Reason, own: Limit) -> RestartLimit | None:
        """Count one restart in the child's own window; returns the limit when it is one too many."""
        assert isinstance(entry, GentleEntry)  # noqa: S101 - it has a limit
        allowed = admit(own, entry.stamps, self.system.clock.now())
        what, detail = ("restart", None) if allowed else ("gave up", "child" if own.then == "give_up" else None)
        self.system.history.decide(self.ref, ident, what, detail, entry.starts, len(entry.stamps), own)
        return None if allowed else RestartLimit(self._path, str(ident), own.max_restarts, own.max_seconds, reason)

    def give_up(self, ident: str | int, entry: Entry, limit: RestartLimit) -> Flow[Stop | None]:
        """Leave one child without a process, and keep its spec; its siblings go on."""
        assert isinstance(entry, GentleEntry)  # noqa: S101 - it has a limit
        others_wait = entry.restarting
        entry.give_up()
        self.system.events.emit(
            ChildGivenUp(
                path=f"{self._path}/{ident}",
                max_restarts=limit.max_restarts,
                max_seconds=limit.max_seconds,
                reason=limit.reason,
            )
        )
        if others_wait:
            yield from self.go_on_without(ident)
        return None

    def go_on_without(self, ident: str | int) -> Flow[None]:  # noqa: ARG002 - a strategy may need it
        """Start those whom the child that was given up has kept waiting; nobody, unless a strategy groups them."""
        yield from ()

    def stop_group(self, ident: str | int, entry: Entry) -> Flow[list[tuple[str | int, Entry]]]:
        """Stop whom a restart takes along, and return who is to be started; here the child alone."""
        yield from ()
        return [(ident, entry)]

    def restart(self, ident: str | int, entry: Entry, reason: Reason) -> Flow[Stop | None]:
        """Start a child again, and those its end takes along; or give up."""
        raise NotImplementedError


def deliver_attempt(actor: Gentle, ident: str | int, pause: Pause) -> object:
    """Hand over that a pause is over."""
    return actor.submit(Gentle.attempt, ident, pause)
