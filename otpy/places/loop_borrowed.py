"""The place `loop` on an event loop that the user's own program runs."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

from otpy.core.late import asyncio
from otpy.core.reason import Crashed
from otpy.places.loop import LoopHome
from otpy.places.loop_seat import LoopSeat
from otpy.runtime.death import LAST_BREATH, finish
from otpy.runtime.seat import here, sit
from otpy.runtime.station import forget_station
from otpy.runtime.turn import after_turn

if TYPE_CHECKING:
    from otpy.runtime.ref import Ref
    from otpy.runtime.seat import Seat
    from otpy.runtime.system import System

__all__ = ["BorrowedHome"]

log = logging.getLogger("otpy")

LOST = Crashed("RuntimeError", "the event loop it ran on was closed")
"""How an actor ends whose loop has ended before it."""


class BorrowedSeat(LoopSeat):
    """The seat of a user's thread while it runs a loop with actors: whoever would wait there is refused.

    All systems on that loop share it. When the loop does not run, the thread may wait as before.
    """

    __slots__ = ("before", "loop", "users")

    def __init__(self, before: Seat, loop: asyncio.AbstractEventLoop) -> None:
        """Take the place of another one."""
        self.before = before
        self.loop = loop
        self.users = 0
        super().__init__("")

    @property
    def lock(self) -> Any:  # as there
        """That of the seat before."""
        self.may_block()
        return self.before.lock

    @lock.setter
    def lock(self, value: Any) -> None:
        self.before.lock = value

    def may_block(self) -> None:
        """Not while the loop runs."""
        if asyncio._get_running_loop() is self.loop:  # noqa: SLF001 - public: docs.python.org/3/library/asyncio-extending.html
            super().may_block()

    def sleep(self, seconds: float) -> None:
        """As above."""
        self.may_block()
        time.sleep(seconds)


class BorrowedHome(LoopHome):
    """Gives turns to all loop actors of a system on the running loop of its user, who goes on to use it."""

    def __init__(self, system: System) -> None:
        """Have the running loop; called on its thread."""
        super().__init__(system)
        self._has_thread = True
        self._is_lost = False

    def make_seat(self) -> LoopSeat:
        """The thread's own, from now on one that must not wait."""
        seat = here()
        if not isinstance(seat, LoopSeat):
            seat = BorrowedSeat(seat, asyncio.get_running_loop())
            sit(seat)
            forget_station()
        if isinstance(seat, BorrowedSeat):
            seat.loop = asyncio.get_running_loop()  # another one, where a block on an earlier loop was never left
            seat.users += 1
        return seat

    def make_loop(self) -> asyncio.AbstractEventLoop:
        """The one that runs."""
        return asyncio.get_running_loop()

    def is_over(self) -> bool:
        """Whether its loop was closed, or is known to have stopped for good."""
        return self._is_lost or super().is_over()

    def close(self) -> None:
        """Nothing ends by this: the loop is the user's."""

    async def leave(self) -> None:
        """End its workers and give the thread back, when the system has stopped."""
        tasks = {worker.task for worker in self.workers}
        try:
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks, timeout=LAST_BREATH)
        finally:
            self._is_lost = True
            self._give_back()
            self.system.threads.discard(self)
            self.system.pool.notice_idle()

    def lose(self) -> None:
        """Its loop will never run again, although nobody has left: whoever ran there has ended."""
        self._is_lost = True
        self.free[:] = [True]  # it may have been on its way to the loop
        self.drop_dead()

    def drop_dead(self) -> None:
        """End all that would go on, or begin, on the loop that is gone."""
        refs = {worker.ref for worker in self.suspended.copy() if worker.ref is not None}  # of some there are several
        self.suspended.clear()
        for ref in refs:
            _end(ref)
        while self.queue:
            try:
                ref = self.queue.popleft()
            except IndexError:
                return
            _end(ref)

    def _give_back(self) -> None:
        seat = self.seat
        if isinstance(seat, BorrowedSeat):
            seat.users -= 1
            if not seat.users:
                sit(seat.before)
                forget_station()


def _end(ref: Ref[Any]) -> None:
    if finish(ref, LOST):
        log.error("%s has ended: %s", ref.path, LOST)
    after_turn(ref)
