"""A gate: holds whoever comes to it, so that a test decides what happens first."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

from otpy.runtime.awaited import AwaitedSlot
from otpy.runtime.seat import Slot, here
from otpy.testing.arrivals import PATIENCE, Arrivals

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Gate"]


class Gate:
    """A point at which actors and threads stop until it is opened.

    The code under test calls `wait`, for example in a handler, a fake or a monkeypatched method. The test waits for it
    with `reached`, does the other thing, and lets it go on with `open`. An actor held here counts as resting, and
    others get its worker; nothing but `open` lets it go on, so one that is killed meanwhile is a zombie.

    As a context manager it is open at the end of the block, whatever happens in it.
    """

    def __init__(self) -> None:
        """A closed gate."""
        self._lock = threading.RLock()  # guards what follows
        self._is_open = False
        self._held: list[Slot] = []
        self._arrivals: Arrivals[str] = Arrivals()

    def wait(self) -> None:
        """Stop here until the gate is open; called by the code under test, in any thread."""
        slot = Slot(here())
        if self._hold(slot):
            slot.wait(None)
        else:
            slot.give_up()

    async def await_open(self) -> None:
        """As `wait`, in a coroutine; one that is cancelled leaves the gate."""
        slot = AwaitedSlot(None, "gate")
        try:
            if self._hold(slot):
                await slot.resolved()
        finally:
            slot.withdraw()

    def _hold(self, slot: Slot) -> bool:
        """Note who has come; whether it is to wait."""
        with self._lock:
            is_held = not self._is_open
            if is_held:
                self._held.append(slot)
        ref = slot.seat.ref
        self._arrivals.add(ref.path if ref is not None else threading.current_thread().name)
        return is_held

    def reached(self, count: int = 1, *, timeout: float | None = PATIENCE) -> list[str]:
        """Wait until so many have come, and return who: paths of actors, names of other threads.

        Args:
            count: how many, counted from the beginning.
            timeout: real seconds; a safety net.

        Raises:
            TimeoutError: they have not come.
        """
        return self._arrivals.wait(count, timeout)

    def open(self) -> None:
        """Let everybody go on, and let through who comes later; from any thread."""
        with self._lock:
            self._is_open = True
            held, self._held = self._held, []
        for slot in held:
            slot.resolve(None)

    def close(self) -> None:
        """Hold again who comes from now on."""
        with self._lock:
            self._is_open = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.open()
