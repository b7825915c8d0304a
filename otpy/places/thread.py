"""The place `thread`: an OS thread for one actor, for libraries that are bound to one and for code that never returns."""

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
    from otpy.runtime.system import System

__all__ = ["ThreadHome"]


class ThreadHome:
    """Gives turns to one actor, on its own thread, which ends with the actor.

    As in the pool, who appends to `queue` then looks at `free`, and the thread adds to `free`, then looks at `queue`.
    """

    def __init__(self, system: System, ref: Ref[Any]) -> None:
        """Start the thread; it waits for the actor's first turn.

        Raises:
            RuntimeError: no thread could be started.
        """
        self.queue: deque[Any] = deque()
        self.free: list[bool] = []
        self.seat = seats.Seat()
        self._system = system
        self._ref = ref
        self._parking = seats.take_lock()
        self._closed = False
        name = f"otpy-{ref.number}-{ref.id}"
        system.threads.add(self)
        try:
            threading.Thread(target=self._run, name=name, daemon=True).start()
        except RuntimeError:
            system.threads.discard(self)
            raise

    def engage(self) -> bool:
        """Wake the thread."""
        try:
            self.free.pop()
        except IndexError:
            return True
        self.seat.waiting = False
        self._parking.release()
        return True

    def is_idle(self) -> bool:
        """Whether the actor rests, or waits inside otpy."""
        return self.seat.waiting and not self.queue

    def close(self) -> None:
        """Let the thread end when it has nothing to do."""
        self._closed = True
        self.engage()

    def _run(self) -> None:
        seats.sit(self.seat)
        while not self._closed:
            try:
                ref = self.queue.popleft()
            except IndexError:
                if self._ref.reason is not None:
                    break
                self._rest()
                continue
            self.seat.turns += 1
            self.seat.since = self._system.clock.now()
            self.seat.ref = ref
            context = ref.context or ref.new_context()
            context.run(turn, ref, BATCH, self.seat)
            self.seat.wake_late()
            after_turn(ref)
            self.seat.ref = None
        self._system.threads.discard(self)
        self._system.pool.notice_idle()

    def _rest(self) -> None:
        self.seat.waiting = True
        self.free.append(True)
        if self.queue or self._closed or self._ref.reason is not None:
            self.engage()
        else:
            self._system.pool.notice_idle()
        self._parking.acquire()


def _home(system: System, ref: Ref[Any]) -> Home:
    # A seeded run has one order of turns for all; there every actor belongs to the pool.
    return system.pool if system.pool.is_seeded else ThreadHome(system, ref)


PLACES["thread"] = _home
