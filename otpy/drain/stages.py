"""What each phase of a drain has to wait for, and who is late in it; the drain's actor looks again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.drain.plan import Phase
from otpy.events.draining import DrainFailed, DrainLate
from otpy.runtime.draining import flights_in
from otpy.runtime.far_drains import FarDrains
from otpy.runtime.near_drains import NearDrains, ended, failures, late_actor, late_drain, late_flight
from otpy.runtime.rest import Quiet, is_to_start

if TYPE_CHECKING:
    from otpy.core.record import LateRecord
    from otpy.drain.course import Course

__all__ = ["Asking", "Flushing", "Working", "far_failed", "far_late"]

DOUBTS = 3
"""Looks beyond the end of a phase at what may be a mere tick; a tree that never rests is taken for that then."""


class Asking:
    """Those with one hook, here and in process children, and what has become of the asking."""

    phase: Phase
    hook: str

    def __init__(self, course: Course) -> None:
        """Have asked nobody."""
        self.course = course
        self.system = course.system
        self.late: list[DrainLate] = []
        self.failed: list[DrainFailed] = []
        self.near = NearDrains(self.system, course.top, self.hook, course.reason, self._end)
        self.far = FarDrains(self.system, course.top, course.wake)

    def begin(self) -> None:
        """Ask."""
        self.near.on_answer = self.course.wake
        self.course.near, self.course.far = self.near, self.far
        self.near.ask()
        self.far.begin(self.hook, self.course.reason, self.remaining, self.course.remaining)

    def remaining(self) -> float:
        """Seconds that are left for it."""
        return max(0.0, self._end() - self.system.clock.now())

    def are_done(self) -> bool:
        """Whether all are done; those in processes as far as they have told."""
        return self.near.are_done() and self.far.are(lambda one: one.is_done)

    def note_late(self) -> None:
        """Note who is not done, or has failed."""
        self.late += [late_drain(self.system, self.phase, drain) for drain in self.near.undone()]
        self.late += far_late(self.phase, self.far.late())
        self.failed += failures(self.phase, self.near.asked.values())
        self.failed += far_failed(self.phase, self.far.failed())

    def note_ended(self) -> None:
        """Note who has crashed before it was done: nobody else says so, and what it was asked for is left."""
        self.failed += [
            DrainFailed(path=drain.ref.path, phase=self.phase, problem=ended(drain.ref, "it"))
            for drain in self.near.ended()
        ]
        self.failed += far_failed(self.phase, self.far.ended())

    def _end(self) -> float:
        return self.course.plan.end(self.phase)


class Working(Asking):
    """The phases `quiesce` and `drain`: nothing more comes in, and what there is, is worked off."""

    phase = Phase.DRAIN
    hook = "handle_drain"

    def __init__(self, course: Course, apart: type[Any]) -> None:
        """For a course; actors of the class `apart` are the drain itself."""
        super().__init__(course)
        self._quiet = Quiet(self.system, course.top, apart)
        self._is_confirming = False
        """Whether all are at rest here, and those in processes were asked since then."""
        self._doubts = 0
        """Looks beyond the end so far."""

    def has_quiesced(self, *, is_late: bool, is_tick: bool) -> bool:
        """Whether all that were told have returned."""
        self._ask_newcomers()
        if is_late or (self.near.have_returned() and self.far.are(lambda one: one.has_returned)):
            return True
        if is_tick:
            self.far.look()
        return False

    def has_drained(self, *, is_late: bool, is_tick: bool) -> bool:
        """Whether all is worked off; those who are late are noted then."""
        self._ask_newcomers()
        flights = flights_in(self.system, self.course.top)
        is_quiet = self._quiet.look()  # each time: who is late has had work at the look before, too
        if is_late and (flights or not self.near.are_done() or not self._is_in_doubt()):
            self.note_late()
            return True
        if is_quiet and not flights and self.near.are_done() and not self._is_starting():
            return self._is_confirmed(is_tick=is_tick)
        self._is_confirming = False
        if is_tick:
            self.far.look()
        return False

    def _is_in_doubt(self) -> bool:
        """Whether all is done but for what began only now: a moment later it shows whether that lasts."""
        if self.course.is_cut or self._doubts >= DOUBTS or not self._quiet.may_be_a_tick:
            return False
        self._doubts += 1
        return True

    def note_late(self) -> None:
        """Who still has work, and whether anybody gives it back: those who were asked may, the others cannot."""
        super().note_late()
        self.course.owed += self.near.undone()
        flying = [late_flight(self.phase, flight) for flight in flights_in(self.system, self.course.top)]
        known = self.near.asked
        keeping = self._quiet.late(are_others=bool(flying or self.late))
        alone = [ref for ref in keeping if not (ref in known or ref.actor_class.otpy_is_answered_for)]
        busy = [late_actor(self.system, self.phase, ref) for ref in alone]
        self.late += [*flying, *busy]
        far = [f"{one.path}: {one.why}" for one in self.far.late()]
        self.course.undone += [*(f"{late.path}: {late.why}" for late in (*flying, *busy)), *far]

    def _is_confirmed(self, *, is_tick: bool) -> bool:
        """All rest here. Those in processes are asked now: what they have sent before comes before their answer."""
        if self._is_confirming and self.far.are(lambda one: one.is_done and one.is_at_rest):
            self.note_failed()
            return True
        if not self._is_confirming or is_tick:
            self._is_confirming = True
            self.far.look()
            return self.far.are(lambda _: True) and self._is_confirmed(is_tick=False)
        return False

    def note_failed(self) -> None:
        """Note whose hook has raised."""
        self.failed += failures(self.phase, self.near.asked.values())
        self.failed += far_failed(self.phase, self.far.failed())

    def _ask_newcomers(self) -> None:
        """Ask those that were started meanwhile."""
        self.near.ask()
        self.far.ask()

    def _is_starting(self) -> bool:
        """Whether the program is still being started: what is not there yet is to be told as well."""
        return self.course.top is None and is_to_start(self.system)


class Flushing(Asking):
    """The phase `flush`: what waits to be sent or written goes."""

    phase = Phase.FLUSH
    hook = "handle_flush"

    def has_flushed(self, *, is_late: bool, is_tick: bool) -> bool:
        """Whether all has gone; what has not is left."""
        if not is_late and not self.are_done():
            if is_tick:
                self.far.look()
            return False
        self.note_late()
        self.note_ended()
        self.course.undone += [f"{one.path}: was not flushed" for one in (*self.late, *self.failed)]
        return True


def far_late(phase: Phase, records: list[LateRecord]) -> list[DrainLate]:
    """Who is late in processes of their own."""
    return [
        DrainLate(path=one.path, phase=phase, why=one.why, thread=one.thread, frame=one.frame, names=one.names)
        for one in records
    ]


def far_failed(phase: Phase, records: list[LateRecord]) -> list[DrainFailed]:
    """Who has failed there."""
    return [DrainFailed(path=one.path, phase=phase, problem=one.why) for one in records]
