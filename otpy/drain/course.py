"""One drain as others see it: any thread may look how far it is, wait for its end, hasten it, or cut it short."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from otpy.core.number import is_number
from otpy.core.text import safe_repr
from otpy.drain.plan import Phase, Plan
from otpy.events.draining import DrainEnded, DrainPhase
from otpy.runtime.draining import Draining
from otpy.runtime.near_drains import owing
from otpy.runtime.stopping import Unstopped, kill_all

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otpy.events.draining import DrainFailed, DrainLate
    from otpy.runtime.drain import Drain
    from otpy.runtime.far_drains import FarDrains
    from otpy.runtime.near_drains import NearDrains
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["Course", "budget_of", "check_within"]

SHUTDOWN = 25.0
"""Seconds that the drain of a system has which is no program of its own."""
MAX_LATE = 20
"""Who is late, or has failed, and is told of one by one; of more there is a count."""


class Course:
    """One drain, of a whole program or of one actor with all below it."""

    def __init__(self, system: System, top: Ref[Any] | None, draining: Draining) -> None:
        """Made by `begin`."""
        self.system = system
        self.top = top
        """Whose drain it is, with all below; None for the whole program."""
        self.path = system.name if top is None else top.path
        self.draining = draining
        now = system.clock.now()
        self.plan = Plan.of(now, draining.deadline - now)
        self.phase = Phase.QUIESCE
        self.took: dict[Phase, float] = {}
        """Seconds of each phase that is over."""
        self.undone: list[str] = []
        """What was left undone, in words."""
        self.owed: list[Drain] = []
        """Who was late with a `handle_drain`, and may give back what it has until it has stopped."""
        self.late: list[DrainLate] = []
        """Who was not waited for any longer, the first of them."""
        self.is_stopping = False
        """Whether it is being stopped, in the time that was left then."""
        self.is_cut = False
        """Whether somebody has had it jump to its end."""
        self.near: NearDrains | None = None
        """Who is asked in this phase."""
        self.far: FarDrains | None = None
        """The same for those in process children."""
        self.ref: Ref[Any] | None = None
        """The actor that drains."""
        self.over = threading.Event()
        """Set when all has stopped."""
        self.begun = threading.Event()
        """Set when `ref` is known, if there is to be one: others may want the same before its beginner got so far."""
        self._phase_began = now
        self._unstopped: set[str] = set()  # whose paths are in `undone`: where its code is has changed a moment later
        self._noting = threading.RLock()  # held from a kill until it is noted, for it lets the stop come to its end
        self._is_noted = False

    @property
    def reason(self) -> str:
        """Who told it, in words."""
        return self.draining.reason

    def remaining(self) -> float:
        """Seconds that are left for all of it."""
        return max(0.0, self.plan.deadline - self.system.clock.now())

    def has_ended(self) -> bool:
        """Whether there is nothing more to be waited for before the stop."""
        return self.begun.is_set() and (self.ref is None or self.ref.reason is not None)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it has come as far as it goes by itself; False when it has not in so many real seconds."""
        until = None if timeout is None else time.monotonic() + timeout
        if not self.begun.wait(timeout):
            return False
        if self.ref is None:
            return True
        try:
            self.ref.monitor().wait(None if until is None else max(0.0, until - time.monotonic()))
        except TimeoutError:
            return False
        return True

    def hasten(self, within: float) -> None:
        """Have it over in so many seconds, if that is earlier than it would be."""
        with self.system.lock:  # of two who want it earlier at once, the earlier one must not be overwritten
            plan = self.plan.hastened(self.system.clock.now(), within)
            if plan == self.plan:
                return
            self.plan = plan
            self.draining = Draining(self.draining.reason, self.draining.since, plan.deadline)
            self.publish()
            if self.is_stopping:
                self.system.timers.after(within, self.end_stop)
        self.wake()

    def cut(self, why: str) -> None:
        """Have it wait for nobody any longer."""
        if not self.is_cut and self.phase not in {Phase.RELEASE, Phase.EXIT}:
            self.is_cut = True
            self.undone.append(f"it was cut short in {self.phase}: {why}")
            self.wake()

    def is_lost(self) -> bool:
        """Whether who drains it has ended before all phases were over, as one that was killed."""
        return self.has_ended() and self.phase not in {Phase.RELEASE, Phase.EXIT}

    def end_stop(self) -> None:
        """The stop has had its time, which somebody may have made shorter since it began."""
        with self._noting:
            if self.phase is Phase.RELEASE and not self._is_noted:
                self._note(kill_all(self.system, self.top))

    def publish(self) -> None:
        """Let everybody know that it drains."""
        if self.top is None:
            self.system.draining = self.draining
        else:
            self.system.drains.parts[self.top] = self.draining

    def wake(self) -> None:
        """Have the actor that drains look again."""
        ref = self.ref
        if ref is not None and ref.reason is None:
            ref.tell("look")

    def is_over(self, phase: Phase) -> bool:
        """Whether the time of a phase is over."""
        return self.is_cut or self.system.clock.now() >= self.plan.end(phase)

    def close_phase(self, then: Phase, late: list[DrainLate], failed: list[DrainFailed]) -> None:
        """Tell how this phase went, and go on to the next."""
        events = self.system.events
        now = self.system.clock.now()
        for event in [*failed, *late][:MAX_LATE]:
            events.emit(event)
        self.late.extend(late[: MAX_LATE - len(self.late)])
        seconds = self.took[self.phase] = now - self._phase_began
        phase, self.phase, self._phase_began = self.phase, then, now
        events.emit(
            DrainPhase(path=self.path, phase=phase, seconds=seconds, remaining=self.remaining(), late=len(late))
        )

    def end(self, undone: Iterable[Unstopped | str]) -> None:
        """It is over; `undone` is what the stop itself has left undone."""
        owed = [f"{drain.ref.path}: {owing(drain)}" for drain in self.owed if not drain.is_done]
        with self._noting:
            self._note([*undone, *owed])
            self._is_noted = True
        self.close_phase(Phase.EXIT, [], [])
        seconds = self.system.clock.now() - self.draining.since
        self.system.events.emit(
            DrainEnded(path=self.path, reason=self.reason, seconds=seconds, undone=tuple(self.undone[:MAX_LATE]))
        )
        self.over.set()

    def _note(self, undone: Iterable[Unstopped | str]) -> None:
        for one in undone:
            is_known = isinstance(one, Unstopped) and one.path in self._unstopped
            if isinstance(one, Unstopped):
                self._unstopped.add(one.path)
            if not is_known and str(one) not in self.undone:
                self.undone.append(str(one))


def check_within(within: object) -> float:
    """Seconds for a drain. Raises ValueError for what is none."""
    if not is_number(within) or not within >= 0:
        text = f"within={safe_repr(within)}: seconds, 0 or more"
        raise ValueError(text)
    return float(within)


def budget_of(system: System) -> float:
    """Seconds that a drain of it has, unless somebody says otherwise: what a program was given for its end."""
    return float(getattr(system, "shutdown", SHUTDOWN))
