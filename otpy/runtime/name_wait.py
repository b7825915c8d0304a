"""Waiting until somebody holds a name: who takes it wakes those who wait, so nobody looks again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.errors import CallError
from otpy.runtime.awaited import AwaitedSlot
from otpy.runtime.caller import STANDSTILL, STOOD_STILL
from otpy.runtime.nap import Nap
from otpy.runtime.seat import here

if TYPE_CHECKING:
    from otpy.runtime.ref import Ref
    from otpy.runtime.seat import Seat
    from otpy.runtime.system import System

__all__ = ["await_holder", "holder_awaited"]


class _NameWait(Nap):
    """A thread that waits for a name; nobody knows who will take it, so no circle can be seen through it."""

    def __init__(self, seat: Seat, name: str) -> None:
        """Say for which name."""
        super().__init__(seat)
        self.name = name
        self.word = f"name {name!r}"

    def hold_for(self, system: System, seconds: float | None) -> None:
        """Wait at most so long, on the system's clock."""
        if self.seat.ref is not None:
            self.hold(seconds)
        elif not system.is_virtual:
            self.wait(seconds)
        else:
            self._hold_outside(system, seconds)

    def _hold_outside(self, system: System, seconds: float | None) -> None:
        """Outside of all actors on virtual time, which goes on only when somebody moves it, or the run is seeded."""
        timer = None if seconds is None else system.timers.after(seconds, self.resolve, None)
        try:
            if not self.wait(None if self.seat.pool is not None else STANDSTILL):
                raise CallError(f"name {self.name!r}", "wait", STOOD_STILL)
        finally:
            if timer is not None:
                timer.cancel()


def await_holder(system: System, name: str, seconds: float | None) -> Ref[Any] | None:
    """Who holds a name, now or within so many seconds (None: without end) on the system's clock; None when nobody does.

    Raises:
        ActorExit: the waiting actor was told to die.
        CallError: virtual time stood still for too long.
    """
    deadline = None if seconds is None else system.clock.now() + seconds
    while True:
        left = None if deadline is None else deadline - system.clock.now()
        ref, wait = system.await_name(name, lambda: _NameWait(here(), name), is_last=left is not None and left <= 0)
        if wait is None:
            return ref
        try:
            wait.hold_for(system, left)
        finally:
            wait.abandon()
            system.forget_wait(name, wait)


async def holder_awaited(system: System, name: str, seconds: float | None) -> Ref[Any] | None:
    """The same, awaited."""
    deadline = None if seconds is None else system.clock.now() + seconds
    while True:
        left = None if deadline is None else deadline - system.clock.now()
        ref, wait = system.await_name(
            name, lambda: AwaitedSlot(None, f"name {name!r}"), is_last=left is not None and left <= 0
        )
        if wait is None:
            return ref
        timer = None if left is None else system.timers.after(left, wait.resolve, None)
        try:
            await wait.hold()
        finally:
            system.forget_wait(name, wait)
            if timer is not None:
                timer.cancel()
