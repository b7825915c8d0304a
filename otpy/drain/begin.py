"""How a drain begins: once, however many want it, and the earliest deadline of all holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.core.spec import child
from otpy.drain.coordinator import Coordinator
from otpy.drain.course import Course, check_within
from otpy.drain.plan import Phase
from otpy.errors import SystemStoppedError
from otpy.events.draining import DrainBegun
from otpy.runtime.draining import Draining
from otpy.runtime.rest import is_to_start, nobody_works

if TYPE_CHECKING:
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["begin"]


def begin(system: System, reason: str, within: float, *, path: str | None = None, has_release: bool = True) -> Course:
    """Begin to drain a whole program, or what is at and below a path; waits for nothing.

    When that drains already, the same course is returned, and the earlier deadline holds.

    Args:
        system: whose.
        reason: who wants it, in words.
        within: seconds by the system's clock in which all of it must have stopped.
        path: an actor; None, or the system's own name, for all.
        has_release: whether what is at that path is stopped in the end. Else whoever has it drained goes on from there.

    Raises:
        NoSuchActorError: nobody is at that path.
        ValueError: `within` is no time.
    """
    within = check_within(within)
    top = None if path is None or path == system.name else system.find(path)
    if top is None and path not in {None, system.name}:
        raise system.missing(str(path))
    with system.lock:
        running: Course | None = system.drains.courses.get(top)
        course = running or _register(system, top, reason, within)
        is_lost = course.is_lost()
        if is_lost:  # who drains it was killed: whoever wants it next has it go on
            course.begun.clear()
    if running is not None:
        running.hasten(within)
    if is_lost:
        _go_on(course, has_release=has_release)
    if running is not None:
        return running
    seconds = course.draining.deadline - course.draining.since
    try:
        system.events.emit(DrainBegun(path=course.path, reason=course.reason, seconds=seconds))
        if top is None and _has_nothing_to_do(system):
            _pass(course)
        else:
            _start(course, has_release=has_release)
    finally:
        course.begun.set()
    return course


def _go_on(course: Course, *, has_release: bool) -> None:
    """Drain on, from the phase it has come to."""
    try:
        _start(course, has_release=has_release)
    finally:
        course.begun.set()


def _register(system: System, top: Ref[Any] | None, reason: str, within: float) -> Course:
    now = system.clock.now()
    told = system.draining if top is None else None  # it was said already, as by a signal, and begins only now
    since = now if told is None else told.since
    deadline = now + within if told is None else min(told.deadline, now + within)
    course = system.drains.courses[top] = Course(
        system, top, Draining(reason if told is None else told.reason, since, deadline)
    )
    course.publish()
    return course


def _has_nothing_to_do(system: System) -> bool:
    """Whether nobody has a hook, nothing is in flight and all are at rest: most trees stop at once."""
    busy = system.drains.hooked or system.drains.flights or system.beyonds or is_to_start(system)
    return not busy and nobody_works(system)


def _pass(course: Course) -> None:
    """Go through all phases, in which there is nothing to do."""
    for phase in (Phase.DRAIN, Phase.CHECKPOINT, Phase.FLUSH, Phase.RELEASE):
        course.close_phase(phase, [], [])


def _start(course: Course, *, has_release: bool) -> None:
    spec = child(Coordinator, course, has_release=has_release).opts(id="drain")
    try:
        course.ref = course.system.start_soon(spec)
    except SystemStoppedError:
        course.phase = Phase.RELEASE
