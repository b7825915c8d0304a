"""The actor that keeps a breaker: all that is reported comes here, and only here is decided what it means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from otpy.actors.gen_server import GenServer
from otpy.actors.keeping import Keeping
from otpy.events.resilience import BreakerChanged
from otpy.resilience.machine import Machine
from otpy.resilience.snapshot import EXCLUDED, FAILED, SLOW, Probe, Snapshot
from otpy.runtime.links import Down
from otpy.runtime.request import call, cast

if TYPE_CHECKING:
    from otpy.resilience.breaker import Breaker
    from otpy.resilience.cause import Cause
    from otpy.resilience.machine import Change
    from otpy.runtime.links import Monitor
    from otpy.runtime.timers import Timer

__all__ = ["BreakerServer"]


@dataclass(slots=True)
class Watch:
    """What ends the wait for a probe that somebody has taken."""

    timer: Timer
    monitor: Monitor | None = None


@dataclass(frozen=True, slots=True)
class Overdue:
    """A probe's time is over."""

    probe: Probe


class BreakerServer(GenServer):
    """Keeps one `Breaker`; started by its `child()`. What it shows of itself is there for `otpy info --state`."""

    def init(self, breaker: Breaker) -> None:
        """Begin closed; what somebody has forced stays so."""
        self._breaker = breaker
        before, generation = self.use(Keeping(self.ref, breaker.keep, breaker.release))
        self._machine = Machine(breaker.rules, generation)
        self._probes: dict[Probe, Watch | None] = {}  # all of this phase whose outcome is not known, taken or not
        self._free: list[Probe] = []  # those that nobody has taken; callers pop from it
        self.changes = 0
        self.why = "it has just been started"
        if before in {"forced_open", "forced_closed"}:
            self._machine.force("open" if before == "forced_open" else "closed")
        self._publish()
        self._show()

    @property
    def otpy_handle(self) -> Breaker | None:
        """What it keeps; None before its `init`."""
        return self._breaker if hasattr(self, "_breaker") else None

    @property
    def otpy_kind(self) -> str:
        """What it is, in the tree, which so shows how the breaker stands."""
        return f"Breaker {self._breaker.state}" if hasattr(self, "_breaker") else "Breaker"

    @cast
    def look(self) -> None:
        """Something was reported, or a probe was taken."""
        self._take_in()

    @call
    def force(self, state: Literal["open", "closed"]) -> None:
        """Hold it open or closed."""
        self._take_in()
        self._note(self._machine.force(state))
        self._show()

    @call
    def reset(self) -> None:
        """Close it."""
        self._take_in()
        self._note(self._machine.reset())
        self._show()

    def handle_info(self, message: Any) -> None:
        """A probe will not report any more, or has not in time: unless it has before, it has failed."""
        self._take_in()
        match message:
            case Overdue(probe):
                self._lose(probe, f"a probe has not reported within {self._machine.rules.probe_timeout:g} s")
            case Down(monitor=monitor, reason=reason):
                probes = [probe for probe, watch in self._probes.items() if watch and watch.monitor is monitor]
                for probe in probes:
                    self._lose(probe, f"the holder of a probe ended ({reason})")
            case _:
                self.unknown(message)
        self._show()

    def _take_in(self) -> None:
        """All reports in order, then the permits that were taken since the last time."""
        machine, draw = self._machine, self.system.random.random
        take = self._breaker.begin_look()
        while True:
            try:
                ticket, now, outcome, cause = take()
            except IndexError:  # there is no other
                break
            if ticket.__class__ is Probe and not self._settle(ticket, outcome):
                continue
            change = machine.report(ticket.generation, outcome, now, draw)
            if change is not None:
                self._note(change, cause)
        if self._probes:
            self._watch_taken()
        self._show()

    def _watch_taken(self) -> None:
        """Each permit that is not in the list is somebody's, also of one who could not say so any more."""
        taken = [probe for probe in self._probes if probe not in self._free]
        if taken and self._machine.state == "open":
            self._note(self._machine.probe())
        for probe in taken:
            watch = self._probes[probe] or Watch(self.send_after(self._machine.rules.probe_timeout, Overdue(probe)))
            self._probes[probe] = watch
            if watch.monitor is None and probe.holder is not None:
                watch.monitor = self.monitor(probe.holder)

    def _settle(self, probe: Any, outcome: int) -> bool:
        """Note that a probe has reported; whether that is news. One that says nothing makes room for another."""
        if probe not in self._probes:
            return False
        if self._machine.state == "open":
            self._note(self._machine.probe())
        self._let_go(probe)
        if outcome == EXCLUDED:
            again = Probe(probe.generation)
            self._probes[again] = None
            self._free.append(again)
        return True

    def _lose(self, probe: Probe, why: str) -> None:
        if probe in self._probes:
            self._let_go(probe)
            self._note(self._machine.expire(why, self.system.clock.now(), self.system.random.random))

    def _let_go(self, probe: Probe) -> None:
        watch = self._probes.pop(probe)
        if watch is not None:
            watch.timer.cancel()
            if watch.monitor is not None:
                self.demonitor(watch.monitor, flush=True)

    def _note(self, change: Change, cause: Cause | None = None) -> None:
        """Publish a change, and tell of it, and of the failure that was one too many."""
        self.changes += 1
        self.why = change.why
        if change.after != "half_open":
            for probe in list(self._probes):
                self._let_go(probe)
        self._publish()
        retry_after = self._machine.until - self.system.clock.now() if change.after == "open" else None
        event = BreakerChanged(
            path=self.ref.path,
            breaker=self._breaker.name,
            before=change.before,
            after=change.after,
            why=change.why,
            retry_after=retry_after,
            error=None if cause is None else cause.error,
            status=None if cause is None else cause.status,
            attempts=None if cause is None else cause.attempts,
        )
        self.system.events.emit(event)

    def _publish(self) -> None:
        machine = self._machine
        state, generation = machine.state, machine.generation
        if state == "open":
            self._free = [Probe(generation + 1) for _ in range(machine.rules.probes)]
            self._probes = dict.fromkeys(self._free)
        passes = state in {"closed", "forced_closed"}
        probes = self._free if state in {"open", "half_open"} else []
        until = machine.until if probes is self._free else 0.0
        snapshot = Snapshot(state, generation, until, probes, passes=passes, counts=state == "closed")
        self._breaker.publish(self.ref, snapshot)

    def _show(self) -> None:
        """Have the state at hand for whoever asks the inspector."""
        machine = self._machine
        self.state = machine.state
        self.calls = sum(machine.window.totals)
        self.failures = machine.window.totals[FAILED]
        self.slow = machine.window.totals[SLOW]
        self.in_a_row = machine.in_a_row
        self.reopens = machine.reopens
