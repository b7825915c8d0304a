"""Drains in tests: what would be late, without stopping anything, and what was, on a clock that moves when told."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from otpy.core.reason import Shutdown
from otpy.core.value import value
from otpy.drain.begin import begin
from otpy.drain.rehearsal import rehearsal_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otpy.core.rehearsal import Rehearsal
    from otpy.drain.course import Course
    from otpy.runtime.system import System
    from otpy.testing.system import VirtualSystem

__all__ = ["Drained", "drained", "rehearse_drain"]

WITHIN = 25.0
"""Seconds that a drain has, as in `otpy.run`."""
TICK = 0.05
"""Seconds by which the clock is moved: as often as a drain looks whether all are at rest."""


@value(kw_only=True)
class Drained:
    """How a drain went; seconds are those of the system's clock."""

    took: Mapping[str, float]
    """Seconds of each phase: `quiesce`, `drain`, `checkpoint`, `flush`, `release`."""
    seconds: float
    """Seconds of all of it."""
    late: tuple[str, ...]
    """Who was not waited for any longer, in which phase, with what it was at, and where; 20 at most."""
    undone: tuple[str, ...]
    """What was left undone; empty when all has finished, or was given back."""

    @property
    def is_clean(self) -> bool:
        """Whether nobody was late, and nothing was left."""
        return not (self.late or self.undone)


def rehearse_drain(
    system: System, path: str | None = None, *, within: float = WITHIN, sample: float = 0.0
) -> Rehearsal:
    """What would be late if a system were drained now; stops nothing and disturbs nobody, as `otpy rehearse drain`.

    Runs in the calling thread. What an actor does is taken to last as long again as it has lasted by the system's
    clock.

    Args:
        system: which one.
        path: an actor, to be drained with all below it; None for the whole system.
        within: seconds that the drain would have.
        sample: real seconds for which mailboxes are watched, to learn how fast they are emptied. None by default: on a
            virtual clock nothing happens meanwhile.

    Raises:
        NoSuchActorError: nobody is at this path.
    """
    return rehearsal_of(system, path, within=within, sample=sample)


def drained(system: VirtualSystem, *, within: float = WITHIN) -> Drained:
    """Drain a whole system and stop it, as a program that is told to, and tell how that went.

    Runs in the calling thread, which is the test's: it moves the clock, as far as the drain needs, and no further than
    `within`. What has not ended by then is killed.

    Args:
        system: one with a virtual clock.
        within: seconds that the drain has.

    Raises:
        ValueError: `within` is no time.
        TimeoutError: something does not come to rest; the message says where each thread is.
    """
    began = system.clock.now()
    course = begin(system, "a test", within)
    system.wait_idle()
    while not course.has_ended():
        system.clock.advance(TICK)
    _release(system, course)
    course.end(system.stop(timeout=0.0))
    return Drained(
        took={str(phase): seconds for phase, seconds in course.took.items()},
        seconds=system.clock.now() - began,
        late=tuple(map(str, course.late)),
        undone=tuple(course.undone),
    )


def _release(system: VirtualSystem, course: Course) -> None:
    """Have everything stop as a program does: the tops, the last started first, then the tree, while time goes on."""
    tops = sorted(system.tops.values(), key=attrgetter("number"), reverse=True)
    for ref in sorted(tops, key=lambda ref: ref is system.root):
        ref.stop(Shutdown(), block=False)
        system.wait_idle()
        while ref.reason is None and course.remaining() > 0:
            system.clock.advance(min(TICK, course.remaining()))
