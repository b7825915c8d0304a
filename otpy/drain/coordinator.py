"""The actor that drains a program, or a part of it, one phase after the other."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from otpy.actors.gen_server import GenServer
from otpy.core.decision import Continue, Stop
from otpy.drain.plan import Phase
from otpy.drain.saving import Saving
from otpy.drain.stages import Asking, Flushing, Working
from otpy.errors import OtpyError
from otpy.runtime.death import LAST_BREATH
from otpy.runtime.nap import sleep
from otpy.runtime.stopping import describe_late

if TYPE_CHECKING:
    from otpy.drain.course import Course
    from otpy.runtime.ref import Ref
    from otpy.runtime.stopping import Unstopped
    from otpy.runtime.timers import Timer

__all__ = ["Coordinator"]

TICK, FIRST_TICK = 0.05, 0.005
"""Seconds between two looks whether all are at rest; the first ones are closer, for most have little to do."""
ORDER: Final = list(Phase)


class Coordinator(GenServer):
    """Asks those with hooks, looks who still has work, and goes on when all are done or the time is over."""

    def init(self, course: Course, *, has_release: bool) -> Continue:
        """For this course; with `has_release` it also stops what it has drained."""
        self.course = course
        course.ref = self.ref  # here, for the last of those it asks may answer before who began the drain has this ref
        self._has_release = has_release
        self._pause = FIRST_TICK
        self._timer: Timer | None = None
        self._working = Working(course, Coordinator)
        self._saving = Saving(course)
        self._flushing = Flushing(course)
        self.system.drains.on_landed.append(course.wake)
        return Continue()

    def terminate(self, reason: object) -> None:  # noqa: ARG002 - the same for each
        """Leave nothing behind."""
        with suppress(ValueError):
            self.system.drains.on_landed.remove(self.course.wake)

    def handle_continue(self, _: object) -> Stop | None:
        """Begin, or go on where one has come to that was killed."""
        self._stage(self.course.phase).begin()
        return self._go_on(is_tick=False)

    def handle_info(self, message: object) -> Stop | None:
        """Somebody was the last one to answer, or some time is over."""
        return self._go_on(is_tick=message == "tick")

    def _go_on(self, *, is_tick: bool) -> Stop | None:
        """Go from phase to phase as long as each is over."""
        course = self.course
        while course.phase is not Phase.RELEASE:
            if not self._is_through(course.phase, is_tick=is_tick):
                self._look_again(is_tick=is_tick)
                return None
            stage = self._stage(course.phase)
            then = ORDER[ORDER.index(course.phase) + 1]
            course.close_phase(then, stage.late, stage.failed)
            self._pause = FIRST_TICK
            if then in {Phase.CHECKPOINT, Phase.FLUSH} and not course.is_cut:
                self._stage(then).begin()
        if self._has_release and course.top is not None:
            course.end(_release(course))
        return Stop()

    def _stage(self, phase: Phase) -> Asking:
        match phase:
            case Phase.CHECKPOINT:
                return self._saving
            case Phase.FLUSH:
                return self._flushing
        return self._working

    def _is_through(self, phase: Phase, *, is_tick: bool) -> bool:
        """Whether a phase is over; those who are late are noted then."""
        is_late = self.course.is_over(phase)
        if self.course.is_cut and phase in {Phase.CHECKPOINT, Phase.FLUSH}:
            return True  # who was not asked is not late
        match phase:
            case Phase.QUIESCE:
                return self._working.has_quiesced(is_late=is_late, is_tick=is_tick)
            case Phase.DRAIN:
                return self._working.has_drained(is_late=is_late, is_tick=is_tick)
            case Phase.CHECKPOINT:
                return self._saving.has_saved(is_late=is_late, is_tick=is_tick)
        return self._flushing.has_flushed(is_late=is_late, is_tick=is_tick)

    def _look_again(self, *, is_tick: bool) -> None:
        """At the next tick, or when the time of the phase is over; beyond that, which is for a moment, soon."""
        if self._timer is not None:
            self._timer.cancel()
        left = self.course.plan.end(self.course.phase) - self.system.clock.now()
        self._timer = self.send_after(min(self._pause, left) if left > 0 else FIRST_TICK, "tick")
        if is_tick:
            self._pause = min(TICK, self._pause * 2)


def _release(course: Course) -> list[Unstopped | str]:
    """Stop a part that has drained, in the time that is left; returns what was left."""
    top, system = course.top, course.system
    assert top is not None  # noqa: S101 - of a whole program its own stop is the release
    course.is_stopping = True
    timer = system.timers.after(course.remaining(), course.end_stop)
    try:
        if top.reason is None and top.parent is not None:
            system.terminate_child(course.path)
        elif top.reason is None:
            top.stop(timeout=course.remaining())
    except (OtpyError, TimeoutError) as error:
        return [f"{course.path}: {error}"]
    finally:
        timer.cancel()
    until = system.clock.now() + LAST_BREATH
    while any(not system.undead.get(zombie, True) for zombie in _zombies(course)) and system.clock.now() < until:
        sleep(FIRST_TICK)  # who was only just thrown out of its code is about to leave it
    return [describe_late(system, zombie) for zombie in _zombies(course)]


def _zombies(course: Course) -> list[Ref[Any]]:
    """Those of its part whose code may still run."""
    return [zombie for zombie in list(course.system.undead) if f"{zombie.path}/".startswith(f"{course.path}/")]
