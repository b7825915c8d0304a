"""The watchdog of a pool: takes tokens from turns that last, and gives out more while turns block outside of otpy.

It ticks while turns run and sleeps when none does. A worker that began no turn since the last tick is *detached*: its
token goes on to another worker, its turn ends without one. When all that held a token were stuck, work waits, and their
threads used no CPU time, they are blocked, and twice as many tokens are given out. When one of them computes, more
threads would only fight for the interpreter, and the number stays.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from otpy.events import ThreadLimitNear

if TYPE_CHECKING:
    from otpy.runtime.pool import Worker
    from otpy.runtime.system import System

__all__ = ["Watchdog"]

TICK = 0.010
"""Seconds between two looks; also the grain of `busy`."""
FAST_TICK = 0.002
"""While tokens are being doubled: 200 blocked actors are all running after 8 of these."""
QUIET_TICKS = 5
"""Looks without any turn before it goes to sleep."""
CALM_TICKS = 4
"""Looks without a stuck turn before the number of tokens is halved."""
CPU_SHARE = 0.2
"""A thread that used more of the last tick than this computes; one that used less is blocked."""


class Watchdog:
    """One thread for one pool, started by the first work."""

    def __init__(self, system: System) -> None:
        """Watch the system's pool."""
        self._system = system
        self._pool = system.pool
        self._wake = threading.Event()
        self._started = False
        self._closed = False
        self._calm = 0
        self._near = False
        self._cpu: dict[int, float] = {}
        self._pool.on_busy = self._on_busy

    def close(self) -> None:
        """End the thread."""
        self._closed = True
        self._wake.set()

    def _on_busy(self) -> None:
        """A token was handed out; called by any thread, only while the watchdog sleeps."""
        self._pool.on_busy = None
        if not self._started:
            self._started = True
            threading.Thread(target=self._run, name="otpy-watchdog", daemon=True).start()
        self._wake.set()

    def _run(self) -> None:
        quiet = 0
        tick = TICK
        while not self._closed:
            time.sleep(tick)
            busy = [worker for worker in list(self._pool.workers) if worker.ref is not None and not worker.waiting]
            quiet = 0 if busy or self._pool.queue else quiet + 1
            if quiet > QUIET_TICKS:
                self._sleep()
                quiet, tick = 0, TICK
            else:
                tick = self._look(busy)

    def _sleep(self) -> None:
        self._wake.clear()
        self._pool.on_busy = self._on_busy  # set, then look once more: a token handed out before went unseen
        if not self._pool.queue:
            self._wake.wait()
        self._pool.on_busy = None

    def _look(self, busy: list[Worker]) -> float:
        pool = self._pool
        now = self._system.clock.now()
        stuck, fresh = [], 0
        for worker in busy:
            if worker.turns != worker.seen:
                worker.seen, worker.since = worker.turns, now
                fresh += bool(worker.tok)
            elif worker.tok:
                stuck.append(worker)
        computing = [worker for worker in stuck if self._computes(worker)]
        for worker in stuck:
            self._detach(worker)
        if stuck and not fresh and pool.queue:
            self._calm = 0
            if not computing:
                self._double()
                return FAST_TICK
            return TICK
        self._calm += 1
        if self._calm >= CALM_TICKS:
            self._calm = 0
            self._halve()
        if pool.queue and pool.free:
            pool.engage()  # work that found no thread to run on
        return TICK

    def _computes(self, worker: Worker) -> bool:
        used = _cpu_seconds(worker.ident)
        if used is None:
            return False
        before = self._cpu.get(worker.ident)
        self._cpu[worker.ident] = used
        return before is None or used - before > FAST_TICK * CPU_SHARE

    def _detach(self, worker: Worker) -> None:
        try:
            worker.tok.pop()
        except IndexError:
            return
        self._pool.put_back()

    def _double(self) -> None:
        pool = self._pool
        threads = len(pool.workers)
        room = pool.max_threads - threads
        if threads >= pool.max_threads * 0.8 and not self._near:
            self._near = True
            self._system.events.emit(ThreadLimitNear(path=self._system.name, count=threads, limit=pool.max_threads))
        more = max(0, min(pool.limit, room, len(pool.queue)))
        pool.limit += more
        for _ in range(more):
            pool.put_back()

    def _halve(self) -> None:
        pool = self._pool
        self._near = self._near and len(pool.workers) >= pool.max_threads * 0.8
        surplus = pool.limit - max(1, pool.limit // 2)
        for _ in range(surplus):
            if not pool.take_back():
                return
            pool.limit -= 1


def _cpu_seconds(ident: int) -> float | None:
    """CPU time of a thread; None where the platform cannot tell."""
    clock_of = getattr(time, "pthread_getcpuclockid", None)
    if clock_of is None:
        return None
    try:
        return time.clock_gettime(clock_of(ident))
    except (OSError, OverflowError):
        return None
