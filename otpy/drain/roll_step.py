"""One child of a roll: it is drained, its process ends, and it is started again; on a thread that may wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.core.reason import Killed, Reason
from otpy.core.text import safe_str, shorten
from otpy.core.value import value
from otpy.drain.begin import begin
from otpy.errors import CallExitError, ChildNotFoundError, NoSuchActorError, OtpyError, StartError
from otpy.runtime.death import kill
from otpy.runtime.links import Monitor, watch
from otpy.runtime.records import children_of

if TYPE_CHECKING:
    from otpy.core.spec import ChildSpec
    from otpy.drain.course import Course
    from otpy.runtime.records import Child
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System
    from otpy.runtime.timers import Timer

__all__ = ["Gone", "NotStarted", "Started", "child_at", "drain_child", "is_wanted", "start_again"]

TEXT = 1_000
"""Characters of why something did not start."""


@value
class Started:
    """It is started again."""

    path: str
    """Where; a dynamic child that its supervisor had forgotten is somewhere else."""
    number: int
    """Which incarnation; 0 when its `init` said `Ignore`, so that it has no process."""


@value
class NotStarted:
    """It was not."""

    why: str


@value
class Gone:
    """It is there no more, or its supervisor is not."""

    why: str


def child_at(system: System, path: str) -> Child | None:
    """A child as its supervisor knows it; None when that knows none, or is not there."""
    head, _, ident = path.rpartition("/")
    parent = system.find(head)
    found = () if parent is None else children_of(parent)
    return next((child for child in found if child.id == ident and child.entry is not None), None)


def is_wanted(child: Child | None) -> bool:
    """Whether it runs, or is to: one that was stopped by hand, or is done, stays as it is."""
    entry = None if child is None else child.entry
    return entry is not None and (entry.ref is not None or entry.restarting or entry.given_up)


def drain_child(system: System, path: str, within: float, reason: str) -> str | None:
    """Have a child that runs work off what it has and save its state; it is about to be replaced, and not yet stopped.

    For its stop it has what is left of the time. Returns what it has left undone, in words; None when there is nobody
    to be drained.
    """
    ref = system.find(path)
    others = None if ref is None else system.drains.courses.get(ref)
    if others is not None:  # somebody else has it drained, to stop it
        others.wait()
    if ref is None or others is not None:
        return None
    try:
        course = begin(system, reason, within, path=path, has_release=False)
    except NoSuchActorError:  # it has just ended
        return None
    course.wait()
    left = "; ".join(course.undone)
    if course.top is not None:
        timer = system.timers.after(course.remaining(), kill, course.top)
        watch(_Release(course, timer))
    return shorten(left, TEXT)


class _Release(Monitor):
    """Ends a drain when its actor does: the roll has it stopped and started again in one step."""

    __slots__ = ("_course", "_timer")

    def __init__(self, course: Course, timer: Timer) -> None:
        super().__init__(course.top, course.top, None)
        self._course = course
        self._timer = timer

    def fire(self, reason: Reason) -> None:
        self._timer.cancel()
        self._course.end([f"{self._course.path}: it did not stop in its time"] if isinstance(reason, Killed) else [])


def start_again(system: System, path: str, spec: ChildSpec, *, has_failed: bool = False) -> Started | NotStarted | Gone:
    """Stop a child, if it runs, and start it again from its spec; waits until its `init` is done.

    It is no restart that its supervisor counts. One that has failed to start before may have been forgotten for that,
    and is added anew; any other that is not there is gone, for somebody has wanted that.
    """
    try:
        if has_failed and child_at(system, path) is None:
            ref = _added(system, path, spec)
        else:
            system.restart_child(path)
            ref = system.find(path)
    except StartError as error:
        return NotStarted(safe_str(error, TEXT))
    except (NoSuchActorError, ChildNotFoundError, CallExitError) as error:
        return Gone(safe_str(error, TEXT))
    except OtpyError as error:
        return NotStarted(safe_str(error, TEXT))
    return Started(path, 0) if ref is None else Started(ref.path, ref.number)


def _added(system: System, path: str, spec: ChildSpec) -> Ref[Any] | None:
    head = path.rpartition("/")[0]
    parent = system.find(head)
    if parent is None:
        raise system.missing(head)
    if parent.actor_class.names_children and spec.options.restart != "temporary":
        raise NoSuchActorError(path, "its supervisor has kept its specification, and somebody has deleted that")
    start: Any = parent.actor_class.start_child  # Any: of either kind of supervisor
    ref: Ref[Any] | None = parent.within(None).call(start, spec)
    return ref
