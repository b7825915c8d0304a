"""Leaving a block: what there is, is drained, then stopped, within one time."""

from __future__ import annotations

import logging
import math
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from otpy.drain.plan import SHARES, Phase

if TYPE_CHECKING:
    from otpy.app.application import Application
    from otpy.drain.course import Course

__all__ = ["left_by", "wind_up"]

log = logging.getLogger("otpy")


def wind_up(system: Application, reason: str) -> None:
    """Drain a program, unless it does already, and stop it; blocks for no longer than its `shutdown` time."""
    until = time.monotonic() + system.shutdown
    system.awaits_root = False
    course = None
    if any(ref.reason is None for ref in system.tops.copy().values()):  # nobody is there when its start has failed
        course = system.begin_drain(reason)
        _await_drain(course, until)
        course.is_stopping = True
    told = system.draining
    if told is not None and not system.is_virtual:  # also when there is nothing to drain, as after a start that failed
        until = min(until, time.monotonic() + max(0.0, told.deadline - system.clock.now()))
    system.is_winding_up = True
    system.left = system.stop(timeout=max(0.0, until - time.monotonic()))
    for unstopped in system.left:
        log.error("%s", unstopped)
    if course is not None:
        course.end(system.left)
        system.undone = tuple(course.undone)


def left_by(error: BaseException | None) -> str:
    """Why a program drains whose block is left without its having been told anything."""
    return "the block was left" if error is None else f"the block was left by {type(error).__name__}"


def _await_drain(course: Course, until: float) -> None:
    """Wait until all is drained, or the time for it is over: the stop has the rest of it."""
    if course.system.is_virtual:
        with suppress(TimeoutError):
            course.system.wait_idle(until - time.monotonic())
        if not course.has_ended():
            course.cut("nobody moves the clock any more")
    left = max(0.0, until - time.monotonic())
    if not course.wait(None if left == math.inf else left * SHARES[Phase.FLUSH]):
        course.cut("its time was over")
    elif course.is_lost():
        course.cut(f"who drains it has ended: {'nobody does' if course.ref is None else course.ref.reason}")
