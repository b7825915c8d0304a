"""The actor that starts the children of a supervisor again, one after the other, and stops at the first bad one.

It is a part of the program, so that it goes on when the terminal is lost that wanted it. All that waits, a drain and a
start, is done by a helper of its own for each child at hand: the roll itself always sees who is without service.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.actors.gen_server import GenServer
from otpy.actors.trials import Trial
from otpy.core.backoff import delay
from otpy.core.decision import Stop
from otpy.core.value import value
from otpy.drain.roll_plan import ACTIVE, BACKOFF, RollLook, Unit, may_begin
from otpy.drain.roll_step import Gone, NotStarted, Started, child_at, drain_child, is_wanted, start_again
from otpy.events.rolling import RollBegun, RollEnded, RollStep, RollStopped
from otpy.runtime.draining import draining_of
from otpy.runtime.links import ExitSignal
from otpy.runtime.records import children_of, is_in_init
from otpy.runtime.request import cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otpy.core.spec import ChildSpec
    from otpy.drain.roll_plan import Terms, UnitState
    from otpy.runtime.records import Child
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["Roll", "units_of"]

TICK = 0.1
"""Seconds between two looks at who is without service, and whether who was started is well."""
MANY = 10_000
"""Children looked at in a second, at most: each takes some two microseconds."""
STARTING = 60.0
"""Seconds after which a start, with the stop before it, stops the roll; a `start_timeout` may end it before."""
ENDED = -1
"""The number of an incarnation that had ended before anybody could see it."""
TOLD = 20
"""Paths, and steps, that are shown."""


@value
class Again:
    """A pause before another try to start is over; a message of the roll to itself."""

    path: str


class Roll(GenServer):
    """One roll; it ends when all are done, or one has shown that it had better not go on."""

    trap_exit = True

    def init(self, terms: Terms, units: list[Unit], reason: str, publish: Callable[[RollLook], object]) -> None:
        """Begin with the first look."""
        self.terms, self.units, self._publish = terms, units, publish
        self.why: str | None = None
        self.down: list[str] = []
        self.steps: list[str] = []
        self.step_count = 0
        self._began = self.system.clock.now()
        self._top = self.system.find(terms.path)
        self._helpers: dict[Ref[Any], Unit] = {}
        self._emit(
            RollBegun(path=terms.path, children=len(units), max_unavailable=terms.max_unavailable, reason=reason)
        )
        self._tell("rolling")
        self.send_after(0.0, "look")
        self.send_interval(max(TICK, len(units) / MANY), "look")

    @property
    def otpy_kind(self) -> str:
        """What it is, in the tree, which so shows how far it is."""
        units = getattr(self, "units", [])
        return f"Roll of {self.terms.path}, {_count(units, 'done')} of {len(units)}" if units else "Roll"

    def terminate(self, reason: object) -> None:  # noqa: ARG002 - the same for each
        """Judge nobody any more."""
        for unit in self.units:
            if unit.state in ACTIVE:
                self.system.trials.pop(unit.path, None)

    @cast
    def finish(self, why: str) -> None:
        """Begin nothing more; what has begun is ended."""
        self.why = self.why or why

    @cast
    def drained(self, path: str, left: str) -> None:
        """A child's process has nothing more to do, but what it has left undone, and is about to be replaced."""
        unit = self._unit(path)
        self._step(unit, "drained", self.system.clock.now() - unit.since, left)
        self._enter(unit, "starting")

    @cast
    def came(self, path: str, outcome: Started | NotStarted | Gone) -> None:
        """What has become of a start."""
        unit = self._unit(path)
        self._helpers = {ref: other for ref, other in self._helpers.items() if other is not unit}
        seconds = self.system.clock.now() - unit.since
        match outcome:
            case Started(where, number):
                if where != path:
                    self.system.trials.pop(path, None)
                    self.system.trials[where] = Trial(self.ref)
                trial = self.system.trials.get(where)
                if trial is not None:
                    trial.number = number
                elif number:  # what was there before has ended by itself, just before it was to be stopped
                    self.system.trials[where] = Trial(self.ref, number)
                has_ended = trial is None and not number  # and its supervisor has heard of it
                unit.path, unit.number = where, ENDED if has_ended else number
                self._step(unit, "started", seconds)
                self._enter(unit, "proving")
            case NotStarted(why):
                unit.tries += 1
                self._step(unit, "start failed", seconds, why)
                self._enter(unit, "starting")
                self._try_again(unit, why)
            case Gone(why):
                self._leave_out(unit, why)

    def handle_info(self, message: object) -> Stop | None:
        """A tick, the end of a pause, or of a helper."""
        match message:
            case Again(path):
                unit = self._unit(path)
                if unit.state == "starting" and self.why is None:
                    self._begin(unit)
                elif unit.state == "starting":
                    self._spoil(unit, f"{path} was not started again")
            case ExitSignal(sender, reason) if sender.parent is self.ref:
                unfinished = self._helpers.pop(sender, None)
                if unfinished is not None:  # it ends after it has said what has become of it
                    self._spoil(
                        unfinished, f"{unfinished.path} was not started again: what does it has ended ({reason})"
                    )
            case ExitSignal(reason=reason):
                return Stop(reason)
        return self._look()

    # Looking, and what follows.

    def _look(self) -> Stop | None:
        """Judge those that prove themselves, begin those that may be, end when nothing is left to do."""
        self._heed_the_program()
        self.down = [child.path for child in self._children() if is_down(child)]
        for unit in self.units:
            if unit.state == "proving":
                self._judge(unit)
            elif unit.state == "starting" and self.system.clock.now() - unit.since > STARTING:
                self._spoil(unit, f"{unit.path} has not started within {STARTING:g} s")
        if self.why is None:
            for unit in may_begin(self.units, self._others_down(), self.terms.max_unavailable):
                self._begin(unit)
        is_busy = any(unit.state in ACTIVE for unit in self.units)
        if self.why is not None:
            self._tell("stopping" if is_busy else "stopped")
        else:
            self._tell("rolling" if is_busy or _count(self.units, "waiting") else "done")
        if is_busy or (self.why is None and _count(self.units, "waiting")):
            return None
        self._end()
        return Stop()

    def _heed_the_program(self) -> None:
        if self._top is None or self._top.reason is not None:
            self.why = self.why or "the supervisor itself has ended"
        elif draining_of(self.system, self._top) is not None:
            self.why = self.why or "the program, or the part of it with these children, drains"

    def _children(self) -> Iterator[Child]:
        return wanted_below(self._top, workers=self.terms.workers) if self._top is not None else iter(())

    def _others_down(self) -> set[str]:
        """Who is without service by itself: what the roll has at hand, it knows better."""
        return set(self.down) - {unit.path for unit in self.units if unit.state in ACTIVE}

    def _judge(self, unit: Unit) -> None:
        """Whether a new process has ended, or has been well for long enough."""
        child = child_at(self.system, unit.path)
        ref = None if child is None else child.ref
        problem = None
        if unit.number == 0:
            pass  # it wanted no process
        elif ref is None or ref.number != unit.number or ref.reason is not None:
            last = None if child is None or child.entry is None else child.entry.last_exit
            why = f" ({ref.reason if ref is not None and ref.number == unit.number else last})"
            problem = f"{unit.path} ended within {self.terms.healthy_after:g} s of its start{why}, and stays stopped"
            trial = self.system.trials.get(unit.path)
            if trial is not None and ref is not None and ref.number == unit.number:  # not heard of by its supervisor
                trial.is_lost = True
        else:
            problem = _ill_below(ref)
        is_over = self.system.clock.now() - unit.since >= self.terms.healthy_after
        if problem is None and is_over and ref is not None and ref.trouble is not None and not ref.copes:
            problem = f"{unit.path} is in trouble: {ref.trouble}"
        if problem is not None:
            self._spoil(unit, problem)
        elif is_over:
            self._step(unit, "healthy", self.system.clock.now() - unit.since)
            self._enter(unit, "done")

    def _begin(self, unit: Unit) -> None:
        child = child_at(self.system, unit.path)
        is_first = unit.state == "waiting"
        if is_first and not is_wanted(child):
            self._leave_out(unit, "it has ended, and is not to be started again")
            return
        self._enter(unit, "draining" if is_first and child is not None and child.ref is not None else "starting")
        within = self.terms.within if unit.state == "draining" else None
        helper = self.spawn_link(replace, self.ref, unit.path, unit.spec, within, has_failed=unit.tries > 0)
        self._helpers[helper] = unit

    def _try_again(self, unit: Unit, why: str) -> None:
        if unit.tries >= self.terms.tries:
            self._spoil(unit, f"{unit.path} did not start{_often(unit.tries)}: {why}")
            return
        self.send_after(delay(BACKOFF, unit.tries - 1, self.system.random.random()), Again(unit.path))

    def _leave_out(self, unit: Unit, why: str) -> None:
        self._step(unit, "left out", 0.0, why)
        self._enter(unit, "left out")

    def _spoil(self, unit: Unit, why: str) -> None:
        """The first bad one stops the roll."""
        self._enter(unit, "bad")
        self.why = self.why or why

    def _end(self) -> None:
        done = _count(self.units, "done")
        if self.why is None:
            self._emit(RollEnded(path=self.terms.path, children=done, seconds=self.system.clock.now() - self._began))
        else:
            left = _count(self.units, "waiting")
            self._emit(RollStopped(path=self.terms.path, why=self.why, done=done, left=left))

    # Keeping and telling.

    def _unit(self, path: str) -> Unit:
        return next(unit for unit in self.units if unit.path == path)

    def _enter(self, unit: Unit, state: UnitState) -> None:
        unit.state, unit.since = state, self.system.clock.now()
        trial = self.system.trials.get(unit.path)
        if trial is not None and state not in ("starting", "proving") and not trial.is_lost:
            self.system.trials.pop(unit.path, None)

    def _step(self, unit: Unit, step: str, seconds: float, detail: str = "") -> None:
        self._emit(RollStep(path=unit.path, roll=self.terms.path, step=step, seconds=seconds, detail=detail))

    def _emit(self, event: RollBegun | RollStep | RollEnded | RollStopped) -> None:
        self.steps = [*self.steps[1 - TOLD :], str(event)]
        self.step_count += 1
        self.system.events.emit(event)

    def _tell(self, state: Any) -> None:  # Any: one of four words
        self._publish(
            RollLook(
                path=self.terms.path,
                state=state,
                why=self.why,
                units=len(self.units),
                done=_count(self.units, "done"),
                active=tuple((unit.path, unit.state, unit.since) for unit in self.units if unit.state in ACTIVE),
                down=tuple(sorted(self._others_down())[:TOLD]),
                steps=tuple(self.steps),
                step_count=self.step_count,
            )
        )


def replace(roll: Ref[Roll], path: str, spec: ChildSpec, within: float | None, *, has_failed: bool) -> None:
    """What a helper does: drain one child within so many seconds, if it runs, and start it again."""
    system = roll.system
    if within is not None:
        left = drain_child(system, path, within, "otpy roll")
        if system.draining is not None:
            roll.cast(Roll.came, path, Gone("the program drains"))
            return
        if not is_wanted(child_at(system, path)):
            roll.cast(Roll.came, path, Gone("it has ended meanwhile, and is not to be started again"))
            return
        roll.cast(Roll.drained, path, left or "")
    system.trials[path] = Trial(
        roll
    )  # before it starts: it may end at once, again and again, and take all others along
    roll.cast(Roll.came, path, start_again(system, path, spec, has_failed=has_failed))


def units_of(system: System, terms: Terms) -> list[Unit]:
    """Whom a roll is to start again, in start order."""
    top = system.find(terms.path)
    found = () if top is None else wanted_below(top, workers=terms.workers)
    return [Unit(child.path, child.entry.spec) for child in found if child.entry is not None]


def wanted_below(top: Ref[Any], *, workers: bool) -> Iterator[Child]:
    """The children of a supervisor that are to run, or all workers below it, in start order."""
    for child in children_of(top):
        if child.entry is None or not is_wanted(child):
            continue
        ref = child.ref
        if workers and ref is not None and ref.actor_class.is_supervisor:  # what has a process is one worker here
            yield from wanted_below(ref, workers=True)
        else:
            yield child


def is_down(child: Child) -> bool:
    """Whether it gives no service now: no process, or one that is not ready yet, or has ended."""
    ref = child.ref
    return ref is None or ref.reason is not None or is_in_init(ref)


def _ill_below(ref: Ref[Any]) -> str | None:
    """Who below a new supervisor has ended since, in a sentence."""
    for child in children_of(ref):
        entry = child.entry
        if entry is not None and (entry.restarts or entry.restarting or entry.given_up):
            return f"{child.path} ended after the start of {ref.path}: {entry.last_exit}"
        below = None if child.ref is None else _ill_below(child.ref)
        if below is not None:
            return below
    return None


def _often(tries: int) -> str:
    return "" if tries == 1 else f", {tries} times"


def _count(units: list[Unit], state: UnitState) -> int:
    return sum(unit.state == state for unit in units)
