"""The place `thread`: an OS thread for one actor, for libraries bound to one and for code that never returns."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from otpy.runtime import seat as seats
from otpy.runtime.home import PLACES
from otpy.runtime.pool import BATCH
from otpy.runtime.turn import after_turn, turn

if TYPE_CHECKING:
    from otpy.runtime.home import Home
    from otpy.runtime.ref import Ref
    from otpy.runtime.seat import Seat
    from otpy.runtime.system import System

__all__ = ["ThreadHome"]


class ThreadHome:
    """Gives turns to one actor, on its own thread, which starts with the first turn and ends with the actor.

    As in the pool, who appends to `queue` then looks at `free`, and the thread adds to `free`, then looks at `queue`.
    """

    place = "thread"
    settle = None
    obey = None

    def __init__(self, system: System, ref: Ref[Any]) -> None:
        """Have no thread yet."""
        self.queue: deque[Any] = deque()
        self.free: list[bool] = [True]
        self.seat = seats.Seat()
        self.seat.waiting = True
        self._system = system
        self._name = f"otpy-{ref.number}-{ref.id}"
        self._parking = seats.take_lock()
        self._has_thread = False
        self._closed = False
        system.threads.add(self)

    def engage(self) -> bool:
        """Wake the thread, or start it; False when none could be had, and then there never will be one."""
        try:
            self.free.pop()
        except IndexError:
            return True
        self.seat.waiting = False
        if self._has_thread:
            self._parking.release()
            return True
        return self._start()

    def seats(self) -> list[seats.Seat]:
        """That of its thread."""
        return [self.seat]

    def turns(self) -> int:
        """How many turns it has given."""
        return self.seat.turns

    def in_line(self) -> int:
        """Nobody: it keeps none but its actor waiting."""
        return 0

    def release(self) -> None:
        """Its only actor has left."""
        self.close()

    def is_idle(self) -> bool:
        """Whether the actor rests, or waits inside otpy."""
        return self.seat.waiting and not self.queue

    def close(self) -> None:
        """Let the thread end when it has nothing to do; called when its actor is gone, or the system is."""
        self._closed = True
        self.engage()

    def _start(self) -> bool:
        if self._closed and not self.queue:
            self._end()
            return True
        self._has_thread = True  # before the start: from then on the thread may be found in `free`
        try:
            threading.Thread(target=self._run, name=self._name, daemon=True).start()
        except RuntimeError:  # can't start new thread
            self.queue.clear()
            self._end()
            return False
        return True

    def _run(self) -> None:
        seats.sit(self.seat)
        seat = self.seat
        while True:
            try:
                ref = self.queue.popleft()
            except IndexError:
                if self._closed:
                    break
                self._rest()
                continue
            seat.turns += 1
            self._give_turn(ref, seat)
        self._end()

    def _give_turn(self, ref: Ref[Any], seat: Seat) -> None:
        seat.since, seat.seen_in = self._system.clock.now(), None
        seat.ref = ref
        context = ref.context or ref.new_context()
        context.run(turn, ref, BATCH, seat)
        seat.wake_late()
        after_turn(ref)
        seat.ref = seat.held = None

    def _rest(self) -> None:
        self.seat.waiting = True
        self.free.append(True)
        if self.queue or self._closed:
            self.engage()
        else:
            self._system.pool.notice_idle()
        self._park()

    def _park(self) -> None:
        """Wait to be woken; `engage` has released the lock, or will."""
        self._parking.acquire()

    def _end(self) -> None:
        self._system.threads.discard(self)
        self._system.pool.notice_idle()


def _home(system: System, ref: Ref[Any], _: str | None) -> Home:
    # A seeded run has one order of turns for all; there every actor belongs to the pool.
    return system.pool if system.pool.is_seeded else ThreadHome(system, ref)


PLACES["thread"] = _home
