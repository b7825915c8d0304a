"""Who hangs at a point until a script lets them go, and what else it takes back in the end."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

from otpy.core.clock import set_wall
from otpy.runtime.awaited import AwaitedSlot
from otpy.runtime.nap import Nap
from otpy.runtime.seat import Slot, here

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Holding"]

S = TypeVar("S", bound=Slot)


class Holding:
    """Of one script."""

    def __init__(self) -> None:
        """Nobody hangs."""
        self._lock = threading.RLock()  # guards what follows
        self._held: list[Slot] = []
        self._jumped = 0
        self._is_over = False

    def wait(self, *, deaf: bool) -> None:
        """Hang, on this thread."""
        slot = self._kept(lambda: Slot(here()) if deaf else Nap(here()))
        try:
            if isinstance(slot, Nap):
                slot.hold(None)
            elif slot is not None:
                slot.wait(None)
        finally:
            self._drop(slot)

    async def await_release(self) -> None:
        """Hang, in a task."""
        slot = self._kept(lambda: AwaitedSlot(None, "fault"))
        try:
            if slot is not None:
                await slot.hold()
        finally:
            self._drop(slot)

    def release(self) -> None:
        """Let all go on who hang now."""
        with self._lock:
            held, self._held = self._held, []
        for slot in held:
            slot.resolve(None)

    def set_wall(self, milliseconds: int) -> None:
        """Have the time of day be wrong by so much more, until the end; who comes late changes nothing."""
        with self._lock:
            if not self._is_over:
                self._jumped += milliseconds
                set_wall(milliseconds)

    def end(self) -> None:
        """Take back what can be; nobody hangs from now on."""
        with self._lock:
            self._is_over = True
            set_wall(-self._jumped)
            self._jumped = 0
        self.release()

    def begin(self) -> None:
        """It holds whoever is told to hang, from now on."""
        self._is_over = False

    def _kept(self, made: Callable[[], S]) -> S | None:
        with self._lock:
            if self._is_over:
                return None
            slot = made()
            self._held.append(slot)
        return slot

    def _drop(self, slot: Slot | None) -> None:
        with self._lock:
            self._held = [each for each in self._held if each is not slot]
