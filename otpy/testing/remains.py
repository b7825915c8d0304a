"""What a test leaves behind: actors, threads and control sockets that were not there before it."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING
from weakref import WeakSet

from otpy.control.claim import NameClaim
from otpy.control.forks import holders
from otpy.runtime.stacks import seats_of
from otpy.runtime.systems import all_systems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.runtime.system import System

__all__ = ["Before", "ends_within"]

LAST_BREATH = 5.0
"""Real seconds a thread that is already ending may take; only a failing test waits so long."""

SHARED = ("otpy-timers", "otpy-watchdog", "otpy-text")
"""Threads whose name does not tell their system: any that runs may have started them."""


class Before:
    """What was there before a test."""

    def __init__(self) -> None:
        """Look now."""
        self._threads = set(threading.enumerate())
        self._systems = WeakSet(all_systems())
        self._claims = _claims()

    def left_since(self) -> list[str]:
        """What has come since and is still there, as sentences; threads that are ending are waited for."""
        new = [system for system in all_systems() if system not in self._systems]
        return [*_of_systems(new), *self._sockets(), *self._left_threads()]

    def _sockets(self) -> Iterator[str]:
        yield from (f"{claim.path}: a name that is held" for claim in _claims() if claim not in self._claims)

    def _left_threads(self) -> Iterator[str]:
        """Threads that will not end; those of a running system are no news: it is older, or has been named."""
        for thread in threading.enumerate():
            if thread in self._threads or not thread.name.startswith("otpy") or _is_of_running(thread):
                continue
            # Again, for one that was only just being started has no number by which to know it.
            if not ends_within(thread, LAST_BREATH) and not _is_of_running(thread):
                yield f"{thread.name}: a thread that runs"


def ends_within(thread: threading.Thread, seconds: float) -> bool:
    """Whether a thread ends in so many real seconds, also one that another thread is only just starting.

    Such a one is in `threading.enumerate` already; to `join` it is an error until it has begun. One that has not begun
    by then counts as ended: it can be one for which no thread was to be had.
    """
    until = time.monotonic() + seconds
    if thread._started.wait(seconds):  # type: ignore[attr-defined]  # noqa: SLF001 - nothing else tells when it begins
        thread.join(max(0.0, until - time.monotonic()))
    return not thread.is_alive()


def _is_of_running(thread: threading.Thread) -> bool:
    running = [system for system in all_systems() if _runs(system)]
    is_shared = bool(running) and thread.name.startswith(SHARED)
    return is_shared or any(seat.ident == thread.ident for system in running for seat in seats_of(system))


def _of_systems(systems: list[System]) -> Iterator[str]:
    for system in systems:
        if _runs(system):
            paths = ", ".join(record.path for record in system.records()) or "no actor is alive, but it has threads"
            yield f"system {system.name} was not stopped: {paths}"
        yield from (f"{zombie.path}: was killed, but its code still runs" for zombie in system.zombies())


def _runs(system: System) -> bool:
    return not system.stopped and bool(system.alive or system.pool.workers or system.threads)


def _claims() -> list[NameClaim]:
    return [holder for holder in holders() if isinstance(holder, NameClaim)]
