"""The actor that drains a program, or a part of it, one phase after the other."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar, Final

from otpy.actors.gen_server import GenServer
from otpy.core.decision import Continue, Stop
from otpy.core.text import exception_line
from otpy.drain.ledger import Ledger, failures, late_actor, late_drain, late_flight
from otpy.drain.plan import ANSWERS, Phase
from otpy.errors import OtpyError
from otpy.events.draining import DrainFailed
from otpy.runtime.death import kill
from otpy.runtime.draining import flights_in
from otpy.runtime.rest import Quiet

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.drain.course import Course
    from otpy.events.draining import DrainLate
    from otpy.runtime.restoring import Snapshot
    from otpy.runtime.timers import Timer

__all__ = ["Coordinator"]

log = logging.getLogger("otpy")

BEAT, FIRST_BEAT = 0.05, 0.005
"""Seconds between two looks whether all are at rest; the first ones are closer, for most have little to do."""
ORDER: Final = list(Phase)


class Coordinator(GenServer):
    """Asks those with hooks, looks who still has work, and goes on when all are done or the time is over."""

    is_apart: ClassVar[bool] = True

    def init(self, course: Course, *, has_release: bool) -> Continue:
        """For this course; with `has_release` it also stops what it has drained."""
        self.course = course
        self._has_release = has_release
        self._late: list[DrainLate] = []
        self._failed: list[DrainFailed] = []
        self._beat = FIRST_BEAT
        self._timer: Timer | None = None
        self._drains: Ledger
        self._save = _Save(course)
        self.system.on_landed.append(course.wake)
        return Continue()

    def terminate(self, reason: object) -> None:  # noqa: ARG002 - the same for each
        """Leave nothing behind."""
        with suppress(ValueError):
            self.system.on_landed.remove(self.course.wake)

    def handle_continue(self, _: object) -> Stop | None:
        """Begin."""
        self._drains = self._ask("handle_drain", Phase.DRAIN)
        self._quiet = Quiet(self.system, self.course.top, Coordinator)
        return self._go_on()

    def handle_info(self, _: object) -> Stop | None:
        """Somebody was the last one to answer, or some time is over."""
        return self._go_on()

    def _go_on(self) -> Stop | None:
        """Go from phase to phase as long as each is over."""
        course = self.course
        while course.phase is not Phase.RELEASE:
            if not self._is_through(course.phase):
                self._look_again()
                return None
            then = ORDER[ORDER.index(course.phase) + 1]
            late, failed, self._late, self._failed = self._late, self._failed, [], []
            course.close_phase(then, late, failed)
            self._open(then)
        if self._has_release and course.top is not None:
            course.end(_release(course))
        return Stop()

    def _open(self, phase: Phase) -> None:
        self._beat = FIRST_BEAT
        if phase is Phase.CHECKPOINT:
            self._save.begin(self._ask("persist", phase), self.course.wake)
        elif phase is Phase.FLUSH:
            self._ask("handle_flush", phase)

    def _ask(self, hook: str, phase: Phase) -> Ledger:
        course = self.course
        ledger = Ledger(self.system, course.top, hook, course.reason, lambda: course.plan.end(phase))
        ledger.on_answer = course.wake
        course.ledger = ledger
        if hook != "persist" or self.system.checkpoints is not None:
            ledger.ask()
        return ledger

    def _is_through(self, phase: Phase) -> bool:
        """Whether a phase is over; those who are late are noted then."""
        look: dict[Phase, Callable[[bool], bool]] = {
            Phase.QUIESCE: self._has_quiesced,
            Phase.DRAIN: self._has_drained,
            Phase.CHECKPOINT: self._has_saved,
            Phase.FLUSH: self._has_flushed,
        }
        return look[phase](self.course.is_over(phase))

    def _has_quiesced(self, is_late: bool) -> bool:  # noqa: FBT001 - one of a table
        self._drains.ask()
        return is_late or self._drains.have_returned()

    def _has_drained(self, is_late: bool) -> bool:  # noqa: FBT001 - as above
        self._drains.ask()  # those that were started meanwhile
        flights = flights_in(self.system, self.course.top)
        is_quiet = self._quiet.look()  # each time: who is late has had work at the last look, too, and no mere tick
        if not is_late and not (self._drains.are_done() and is_quiet and not flights):
            return False
        if is_late:
            self._note_late()
        self._failed += failures(Phase.DRAIN, self._drains.asked.values())
        return True

    def _note_late(self) -> None:
        """Who still has work, and whether anybody gives it back: those who were asked do, the others cannot."""
        asked = [late_drain(self.system, Phase.DRAIN, drain) for drain in self._drains.left()]
        flying = [late_flight(Phase.DRAIN, flight) for flight in flights_in(self.system, self.course.top)]
        known = self._drains.asked
        alone = [ref for ref in self._quiet.busy if not (ref in known or ref.actor_class.otpy_is_answered_for)]
        busy = [late_actor(self.system, Phase.DRAIN, ref) for ref in alone]
        self._late += [*asked, *flying, *busy]
        self.course.left += [f"{late.path}: {late.why}" for late in (*flying, *busy)]

    def _has_saved(self, is_late: bool) -> bool:  # noqa: FBT001 - as above
        if not self._save.look(is_late=is_late):
            return False
        self._failed += self._save.failed
        self._late += self._save.late
        self.course.left += [f"{one.path}: its state was not saved" for one in (*self._save.failed, *self._save.late)]
        return True

    def _has_flushed(self, is_late: bool) -> bool:  # noqa: FBT001 - as above
        ledger = self.course.ledger
        assert ledger is not None  # noqa: S101 - it was opened
        if not is_late and not ledger.are_done():
            return False
        self._late += [late_drain(self.system, Phase.FLUSH, drain) for drain in ledger.left()]
        self._failed += failures(Phase.FLUSH, ledger.asked.values())
        self.course.left += [f"{one.path}: was not flushed" for one in (*self._late, *self._failed)]
        return True

    def _look_again(self) -> None:
        """At the next beat, or when the time of the phase is over."""
        if self._timer is not None:
            self._timer.cancel()
        left = self.course.plan.end(self.course.phase) - self.system.clock.now()
        self._timer = self.send_after(max(0.0, min(self._beat, left)), "look")
        self._beat = min(BEAT, self._beat * 2)


class _Save:
    """Has states returned and written."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self._system = course.system
        self.late: list[DrainLate] = []
        self.failed: list[DrainFailed] = []
        self._outcome: list[str | None] = []
        self._is_writing = False

    def begin(self, ledger: Ledger, wake: Callable[[], object]) -> None:
        """They have been asked."""
        self._ledger = ledger
        self._wake = wake
        now = self._system.clock.now()
        self._until = now + (self._course.plan.end(Phase.CHECKPOINT) - now) * ANSWERS

    def look(self, *, is_late: bool) -> bool:
        """Whether all that has been returned is written, or the time for it is over."""
        is_up = is_late or self._system.clock.now() >= self._until
        if not self._is_writing and (is_up or self._ledger.are_done()):
            self._write()
        if not self._outcome and not is_late:
            return False
        problem = self._outcome[0] if self._outcome else "its time was over before the states were written"
        if problem is not None:
            self.failed.append(DrainFailed(path=self._course.path, phase=Phase.CHECKPOINT, problem=problem))
        return True

    def _write(self) -> None:
        self._is_writing = True
        asked = self._ledger.asked.values()
        self.failed += failures(Phase.CHECKPOINT, asked)
        self.late += [late_drain(self._system, Phase.CHECKPOINT, drain) for drain in self._ledger.left()]
        states = [drain.result for drain in asked if drain.result is not None]
        if not states:
            self._outcome.append(None)
        elif self._system.is_virtual:  # nobody would wait for another thread
            self._keep(states)
        else:
            threading.Thread(target=self._keep, args=(states,), name="otpy-drain-save", daemon=True).start()

    def _keep(self, states: list[Snapshot]) -> None:
        store = self._system.checkpoints
        try:
            refused = {} if store is None else store.save(states, is_final=True)
        except Exception as error:  # noqa: BLE001 - the drain goes on, and says so
            self._outcome.append(exception_line(error))
        else:
            self.failed += [
                DrainFailed(path=path, phase=Phase.CHECKPOINT, problem=str(error)) for path, error in refused.items()
            ]
            self._outcome.append(None)
        self._wake()


def _release(course: Course) -> list[str]:
    """Stop a part that has drained, in the time that is left; returns what was left."""
    top, system = course.top, course.system
    assert top is not None  # noqa: S101 - of a whole program its own stop is the release
    timer = system.timers.after(course.remaining(), kill, top)
    try:
        if top.reason is None and top.parent is not None:
            system.terminate_child(course.path)
        elif top.reason is None:
            top.stop(timeout=course.remaining())
    except (OtpyError, TimeoutError) as error:
        return [f"{course.path}: {error}"]
    finally:
        timer.cancel()
    return [
        f"{zombie.path}: did not stop"
        for zombie in list(system.undead)
        if f"{zombie.path}/".startswith(f"{course.path}/")
    ]
