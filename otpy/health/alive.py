"""Liveness: whether mailboxes make progress, or only a new process can help. Reads what is published, asks nobody."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from otpy.health.look import HealthLine, HealthLook, looked
from otpy.runtime.pulse import TIMERS, TURNS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from otpy.core.standstill import Standstill
    from otpy.runtime.system import System

__all__ = ["STALLED_AFTER", "liveness", "verdict"]

STALLED_AFTER = 120.0
"""Seconds: longer than what ordinary libraries wait by default, 30 or 60. A thousand threads that wait for a server
which has gone come back within that, and the program goes on; to end it would help nobody."""


def liveness(system: System, *, stalled_after: float = STALLED_AFTER) -> HealthLook:
    """Whether the actors of a system get their turns. Any thread may ask; it waits for nothing and takes no lock.

    It is false when only a new process can help: for so long no turn of the pool has begun, no timer has fired, or an
    event loop has not gone on, although somebody waits for it; or the thread that watches over them has died. An actor
    that is stuck, and whom others wait for, is the business of its supervisor: `otpy doctor` names it. Code that
    computes is at work, however long it does. What stops the whole process, as SIGSTOP, is not counted when it is over.

    Args:
        system: which one.
        stalled_after: seconds of standing still; see `STALLED_AFTER`.
    """
    watchdog = system.watchdog
    if watchdog is None:  # a seeded run: its turns are the test's business
        return looked([HealthLine(name=TURNS)])
    silence = math.inf if watchdog.has_died else watchdog.silence()
    return looked(verdict(watchdog.pulse.found, silence, stalled_after))


def verdict(found: Mapping[str, Standstill], silence: float, stalled_after: float) -> Iterator[HealthLine]:
    """What to say of what stands still; `silence` is how long nobody has looked, for ever when nobody will."""
    yield HealthLine(name="watchdog", problem=_silence_problem(silence, stalled_after))
    loops = sorted(found.keys() - {TURNS, TIMERS})
    for what in (TURNS, TIMERS, *loops):
        yield HealthLine(name=what, problem=_problem(what, found.get(what), stalled_after))


def _silence_problem(silence: float, stalled_after: float) -> str | None:
    if silence == math.inf:
        return "the thread that watches over the pool has died"
    if silence < stalled_after:
        return None
    return f"the thread that watches over the pool has hung for {silence:.0f} s, as in what is called with an event"


def _problem(what: str, still: Standstill | None, stalled_after: float) -> str | None:
    if still is None or still.seconds < stalled_after:
        return None
    stood = f"for {still.seconds:.0f} s"
    match what:
        case "turns":
            return (
                f"{still.waiting} wait for a turn, and none has begun {stood}: otpy doctor shows what has the threads"
            )
        case "timers":
            return f"none has fired {stood}, and one is due: otpy's thread for them hangs in what one does"
    return f"{still.waiting} wait for their turn, and this event loop has not gone on {stood}: something blocks it"
