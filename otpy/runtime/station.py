"""One station for each running event loop: how any thread wakes what waits there, and the deadlines of its calls."""

from __future__ import annotations

import threading
from threading import get_ident
from time import monotonic
from typing import TYPE_CHECKING, Any

from otpy.core.late import asyncio
from otpy.runtime.seat import here

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.runtime.caller import Caller

__all__ = ["NO_LOCK", "Station", "forget_station", "station"]

NO_LOCK = threading.Lock()
"""Stands where a slot has the lock it waits at: what is awaited waits at none."""


class Station:
    """What otpy keeps for one event loop, on its thread."""

    __slots__ = ("deadlines", "ident", "loop", "seat")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Made on the loop's thread."""
        self.loop = loop
        self.ident = get_ident()
        self.seat = here()
        self.deadlines: dict[float, Deadlines] = {}

    def do(self, action: Callable[..., object], *args: object) -> bool:
        """Call something on the loop's thread, at once when this is it; False when the loop is closed."""
        if get_ident() == self.ident:
            action(*args)
            return True
        try:
            self.loop.call_soon_threadsafe(action, *args)
        except RuntimeError:  # closed
            return False
        return True

    def deadline(self, seconds: float) -> Deadlines:
        """The first call that may last so long."""
        made = self.deadlines[seconds] = Deadlines(self, seconds)
        return made


class Deadlines:
    """The calls awaited on one loop that may last equally long, the oldest first: one timer serves them all."""

    __slots__ = ("_seconds", "_station", "callers", "is_set")

    def __init__(self, station: Station, seconds: float) -> None:
        """Have none yet."""
        self._station = station
        self._seconds = seconds
        self.callers: dict[Caller, float] = {}
        """When each began, by `time.monotonic`; one that has its answer is taken out."""
        self.is_set = False
        """Whether it will look at them by itself."""

    def set(self) -> None:
        """Look when the time of the first one is over."""
        self.is_set = True
        self._station.loop.call_later(self._seconds, self._look)

    def _look(self) -> None:
        """Let those expire whose time is over, and look again when the next one's may be."""
        loop = self._station.loop
        while self.callers:
            caller, began = next(iter(self.callers.items()))
            left = began + self._seconds - monotonic()
            if left > 0:
                loop.call_later(left, self._look)
                return
            del self.callers[caller]
            caller.expire(self._seconds)
        self.is_set = False
        self._station.deadlines.pop(self._seconds, None)  # any number of different times may have been asked for


class _Local(threading.local):
    station: Any = None


_local = _Local()


def station() -> Station:
    """That of the running loop. Raises RuntimeError when none runs on this thread."""
    loop = asyncio.get_running_loop()
    found: Station | None = _local.station
    if found is None or found.loop is not loop:
        found = _local.station = Station(loop)
    return found


def forget_station() -> None:
    """The running thread has another seat from now on."""
    _local.station = None
