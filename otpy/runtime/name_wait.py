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
    from otpy.runtime.seat import Seat, Slot
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
        with system.lock:  # whoever takes the name holds it, too: either it is seen here, or it sees who waits
            ref = system.names.get(name)
            if ref is not None or (left is not None and left <= 0) or system.stopped:
                return ref
            wait = _NameWait(here(), name)
            system.awaited_names.setdefault(name, {})[wait] = None
        try:
            wait.hold_for(system, left)
        finally:
            wait.abandon()
            _wait_no_longer(system, name, wait)


async def holder_awaited(system: System, name: str, seconds: float | None) -> Ref[Any] | None:
    """The same, awaited."""
    deadline = None if seconds is None else system.clock.now() + seconds
    while True:
        left = None if deadline is None else deadline - system.clock.now()
        with system.lock:
            ref = system.names.get(name)
            if ref is not None or (left is not None and left <= 0) or system.stopped:
                return ref
            wait = AwaitedSlot(None, f"name {name!r}")
            system.awaited_names.setdefault(name, {})[wait] = None
        timer = None if left is None else system.timers.after(left, wait.resolve, None)
        try:
            await wait.hold()
        finally:
            _wait_no_longer(system, name, wait)
            if timer is not None:
                timer.cancel()


def _wait_no_longer(system: System, name: str, wait: Slot) -> None:
    with system.lock:
        waiting = system.awaited_names.get(name)
        if waiting is not None:
            waiting.pop(wait, None)
            if not waiting:
                del system.awaited_names[name]
