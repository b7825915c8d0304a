"""A list that others wait for to grow: how the test kit waits, in threads, in pool actors and in explorations alike."""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

from otpy.runtime.seat import Slot, here

__all__ = ["PATIENCE", "Arrivals"]

T = TypeVar("T")

PATIENCE = 5.0
"""Real seconds the kit waits for something that must come: a net under a test that would hang, as long as a call."""


class Arrivals(Generic[T]):
    """What has come so far, in order."""

    def __init__(self) -> None:
        """Nothing has come."""
        self._lock = threading.RLock()  # guards both lists; RLock: a `__del__` may add
        self._items: list[T] = []
        self._waiting: list[tuple[int, Slot]] = []

    def add(self, item: T) -> None:
        """Note one more, and let those go on who waited for it."""
        with self._lock:
            self._items.append(item)
            count = len(self._items)
            done = [slot for wanted, slot in self._waiting if wanted <= count]
            self._waiting = [entry for entry in self._waiting if entry[0] > count]
        for slot in done:
            slot.resolve(None)

    def so_far(self) -> list[T]:
        """A copy of all that has come."""
        with self._lock:
            return self._items.copy()

    def wait(self, count: int, timeout: float | None) -> list[T]:
        """Wait until so many have come, and return that many, the first ones.

        In an exploration there is no `timeout`: a wait that can never end raises a StalledError.

        Raises:
            TimeoutError: they have not come within `timeout` real seconds; the message shows what has.
        """
        seat = here()
        slot = Slot(seat)
        entry = (count, slot)
        with self._lock:
            if len(self._items) >= count:
                slot.give_up()
                return self._items[:count]
            self._waiting.append(entry)
        is_seeded = seat.pool is not None and seat.pool.is_seeded
        try:
            done = slot.wait(None if is_seeded else timeout)
        finally:
            with self._lock:
                self._waiting = [other for other in self._waiting if other is not entry]
        if not done:
            raise TimeoutError(self._shortage(count, timeout))
        return self.so_far()[:count]

    def _shortage(self, count: int, timeout: float | None) -> str:
        items = self.so_far()
        listed = "".join(f"\n  {item!r}" for item in items) or " nothing"
        return f"{len(items)} of {count} came within {timeout:g} s:{listed}"
