"""How far a drain is, as plain data: what is in flight, what waits, what is open, and who is not done."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from otpy.runtime.draining import flights_in
from otpy.runtime.rest import refs_below

if TYPE_CHECKING:
    from otpy.drain.course import Course
    from otpy.runtime.drain import Drain
    from otpy.runtime.system import System

__all__ = ["look_at"]

TOLD = 20
"""Who is told of one by one."""


def look_at(system: System, course: Course | None) -> dict[str, Any]:
    """What there is to see of a drain; of a program that does not drain what one would have to wait for."""
    top = None if course is None else course.top
    asked = [] if course is None or course.near is None else list(course.near.asked.copy().values())
    undone = [drain for drain in asked if not drain.is_done and drain.ref.reason is None]
    flights = flights_in(system, top)
    queue = resources = 0
    for ref in refs_below(system, top):
        queue += len(ref.mailbox or ())
        more = ref.more
        resources += len(more.resources or ()) if more is not None else 0
    if course is not None and course.far is not None:
        inside = course.far.counts()
        flying, queue, resources = inside[0], queue + inside[1], resources + inside[2]
        far = [_waiting(one.path, one.why, 0, one.names) for one in course.far.late()]
    else:
        flying, far = 0, []
    return _of_course(course) | {
        "in_flight": flying + len(flights) + sum(drain.count for drain in undone),
        "queue": queue,
        "resources": resources,
        "asked": len(asked),
        "waits_for": [
            *(_of_drain(drain) for drain in undone[:TOLD]),
            *(_waiting(flight.where, "it is in flight", 1, ()) for flight in flights[:TOLD]),
            *far[:TOLD],
        ],
    }


def _of_course(course: Course | None) -> dict[str, Any]:
    if course is None:
        return {"phase": "running", "reason": None, "since": None, "left": None, "took": {}, "late": [], "undone": []}
    return {
        "phase": str(course.phase),
        "reason": course.reason,
        "since": course.system.clock.now() - course.draining.since,
        "left": None if course.remaining() == math.inf else course.remaining(),
        "took": {str(phase): seconds for phase, seconds in course.took.copy().items()},
        "late": [str(late) for late in course.late],
        "undone": list(course.undone[:TOLD]),
    }


def _of_drain(drain: Drain) -> dict[str, Any]:
    why = "it has not said that it is done" if drain.was_called else f"its {drain.hook} has not returned"
    return _waiting(drain.ref.path, why, drain.count, drain.names)


def _waiting(path: str, why: str, count: int, names: tuple[str, ...]) -> dict[str, Any]:
    return {"path": path, "why": why, "count": count, "names": list(names)}
