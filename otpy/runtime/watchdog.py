"""The watchdog of a pool: takes tokens from turns that last, and gives out more while turns block outside of otpy.

It ticks while turns run and sleeps when none does. A worker that began no turn since the last tick is *detached*: its
token goes on to another worker, its turn ends without one. When all that held a token were stuck, work waits, and their
threads used no CPU time, they are blocked, and twice as many tokens are given out. When one of them computes, more
threads only share the interpreter: up to a handful, so that a short turn need not wait for long ones to be detached.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from otpy.events.threads import ThreadLimitNear
from otpy.runtime.mailbox import watch_growth
from otpy.runtime.pulse import Pulse
from otpy.runtime.seat import take_lock
from otpy.runtime.stacks import seats_of

if TYPE_CHECKING:
    from otpy.runtime.pool import Worker
    from otpy.runtime.seat import Seat
    from otpy.runtime.system import System

__all__ = ["Watchdog"]

TICK = 0.010
"""Seconds between two looks; also the grain of `busy` in the pool."""
FAST_TICK = 0.002
"""While tokens are being doubled: 200 blocked actors are all running after 8 of these."""
QUIET_TICKS = 5
"""Looks without any turn before it goes to sleep."""
CALM_TICKS = 4
"""Looks without a stuck turn before the number of tokens is halved."""
SLOW_TICK = 0.020
"""Beside many computing actors: each look costs a turn of the interpreter."""
MAX_COMPUTING = 8
"""Computing actors that are let run at once without waiting for the next look."""
NEAR = 0.8
"""The share of `max_threads` at which an event says that it is near."""
GROWTH_TICK = 1.0
"""Seconds between two looks at the mailboxes of actors that are in one message for long, and at the pulse; on a thread
of its own also the grain of `busy`, but for the first message of a turn."""
HURT_TICK = 1.0
"""Between two looks in its sleep for what an interrupt left; nobody could have called it."""
UNSERVED_LOOKS = 3
"""Looks at a queue that nobody is about to serve, after which a token is taken for lost."""
CPU_SHARE = 0.2
"""A thread that used more of the last tick than this computes; one that used less is blocked."""


class Watchdog:
    """One thread for one pool, started by the first work."""

    def __init__(self, system: System) -> None:
        """Watch the system's pool."""
        self._system = system
        self._pool = system.pool
        self.pulse = Pulse(system)
        self._bell = take_lock()  # free while it is to wake up; no Event: a `__del__` that sends may interrupt its code
        self._unstarted = [True]  # who pops it starts the thread: several may be about to hand out a token at once
        self._thread: threading.Thread | None = None
        self._closed = False
        self._calm = 0
        self._near = 0
        self._growth_due = 0.0
        self._cpu: dict[int, float | None] = {}
        self._unserved = 0
        self._hurry = False  # actors block and others wait: look again soon
        self._pool.on_busy = self._on_busy

    @property
    def has_died(self) -> bool:
        """Whether its thread has ended, and nobody has told it to."""
        return self._thread is not None and not self._closed and not self._thread.is_alive()

    def silence(self) -> float:
        """Seconds for which it is known that it looks at nothing any more, although nobody has told it to end."""
        return 0.0 if self._closed else self.pulse.silence()

    def close(self) -> None:
        """End the thread."""
        self._closed = True
        self._ring()

    def _on_busy(self) -> None:
        """A token is about to be handed out; called by any thread, or several, only while the watchdog sleeps."""
        self._pool.on_busy = None
        self._ring()
        try:
            self._unstarted.pop()
        except IndexError:
            return
        thread = threading.Thread(target=self._run, name="otpy-watchdog", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # can't start new thread; whoever hands out the next token tries again
            self._unstarted.append(True)
            self._pool.on_busy = self._on_busy
        else:
            self._thread = thread

    def _ring(self) -> None:
        with suppress(RuntimeError):  # it rings already
            self._bell.release()

    def _run(self) -> None:
        quiet = 0
        tick = TICK
        while not self._closed:
            time.sleep(tick)
            if self._pool.hurt:
                self._pool.mend(lambda: time.sleep(TICK))
            in_turn = [worker for worker in list(self._pool.workers) if worker.ref is not None]
            busy = [worker for worker in in_turn if not worker.waiting]
            self.note_messages()
            quiet = 0 if busy or self._pool.queue or self._system.timers.is_stranded else quiet + 1
            if quiet > QUIET_TICKS:
                self._sleep()
                quiet, tick = 0, TICK
            else:
                tick = self._look(busy)
                if time.monotonic() > self._growth_due:
                    self._watch_growth()

    def _sleep(self) -> None:
        pool = self._pool
        self._bell.acquire(blocking=False)
        pool.on_busy = self._on_busy  # set, then look once more: a token that was handed out before went unseen
        while not pool.queue and not pool.hurt and len(pool.free) >= pool.limit and not self._closed:
            threads_run = any(_runs(seat) for home in list(self._system.threads) for seat in home.seats())
            if self._bell.acquire(timeout=GROWTH_TICK if threads_run else HURT_TICK):
                break
            self._watch_growth()
        pool.on_busy = None

    def note_messages(self) -> None:
        """Note when messages began, for `busy`; what waits inside otpy since the last look is in the same one.

        A clock that is moved by hand has it done before time passes: this thread looks by real time alone.
        """
        now = self._system.clock.now()
        for worker in list(self._pool.workers):
            if worker.ref is None or not worker.waiting:
                worker.note(now)
            elif worker.noted != worker.turns:
                worker.noted = worker.turns
                worker.note(now)

    def _look(self, busy: list[Worker]) -> float:
        """Look once; returns the seconds until the next look."""
        stuck, fresh = [], 0
        for worker in busy:
            if worker.turns != worker.seen:
                worker.seen = worker.turns
                self._cpu[worker.ident] = self._pool.cpu_seconds(worker)
                fresh += bool(worker.tok)
            elif worker.tok:
                stuck.append(worker)
        computing = [worker for worker in stuck if self._computes(worker)]
        # Each token that goes on may cost a thread. Those that wait inside otpy do not count: hand-offs have no limit.
        # Those do that have not come to their turn yet, for with each look until they have more would begin.
        awake = max(len(busy), sum(not worker.waiting for worker in list(self._pool.workers)))
        detached = stuck[: max(0, self._pool.max_threads - awake)]
        for worker in detached:
            self._detach(worker)
        self._report_threads(len(busy))
        self._watch_queue(busy)
        if not stuck or fresh or not self._pool.queue:
            return self._calm_down(len(busy))
        self._calm = 0
        room = self._pool.max_threads - awake - len(detached)
        self._hurry = not computing
        wanted = MAX_COMPUTING + 1 - len(busy) if computing else self._pool.limit
        self._add_tokens(min(wanted, room))
        return SLOW_TICK if room <= 0 or (computing and len(busy) >= MAX_COMPUTING) else FAST_TICK

    def _watch_queue(self, busy: list[Worker]) -> None:
        """Give out another token when nobody comes to serve the queue.

        Who takes a worker out of those that rest, to wake it, may be cut off by the handler of a signal that waits for
        the answer of an actor; it is woken when that has come back, which may take for ever.
        """
        if busy or self._pool.free or not self._pool.queue:
            self._unserved = 0
            return
        self._unserved += 1
        if self._unserved > UNSERVED_LOOKS:
            self._unserved = 0
            self._add_tokens(1)

    def _calm_down(self, busy: int) -> float:
        self._calm += 1
        if self._calm >= CALM_TICKS:
            self._calm = 0
            self._halve()
        if self._pool.queue and self._pool.free and not self._pool.engage():  # work that found no thread to run on
            self._report_threads(busy, no_more=True)
        if self._system.timers.is_stranded:
            self._system.timers.revive()
        self._hurry = self._hurry and bool(self._pool.queue)
        return FAST_TICK if self._hurry else TICK

    def _computes(self, worker: Worker) -> bool:
        before, used = self._cpu.get(worker.ident), self._pool.cpu_seconds(worker)
        self._cpu[worker.ident] = used
        return before is not None and used is not None and used - before > FAST_TICK * CPU_SHARE

    def _detach(self, worker: Worker) -> None:
        try:
            worker.tok.pop()
        except IndexError:
            return
        self._pool.put_back()

    def _add_tokens(self, wanted: int) -> None:
        pool = self._pool
        more = max(0, min(wanted, len(pool.queue)))
        pool.limit += more
        for _ in range(more):
            pool.put_back()

    def _report_threads(self, busy: int, *, no_more: bool = False) -> None:
        """Say once that the limit is near, and once that it is reached, until it is far again."""
        limit = busy if no_more else self._pool.max_threads
        near = 2 if busy >= limit else 1 if busy >= limit * NEAR else 0
        if near > self._near:
            self._system.events.emit(ThreadLimitNear(path=self._system.name, count=busy, limit=limit))
        self._near = max(near, self._near) if busy >= limit * NEAR / 2 else near

    def _watch_growth(self) -> None:
        """Look at the pulse, and at mailboxes of actors that are in one message for long; others do it themselves."""
        self._growth_due = time.monotonic() + GROWTH_TICK
        self.pulse.take()
        now = self._system.clock.now()
        for home in list(self._system.threads):
            for seat in home.seats():
                seat.note(now)
        for seat in seats_of(self._system):
            ref = seat.ref
            if ref is not None and _runs(seat):
                watch_growth(ref)

    def _halve(self) -> None:
        pool = self._pool
        surplus = pool.limit - max(1, pool.limit // 2)
        for _ in range(surplus):
            if not pool.take_back():
                return
            pool.limit -= 1


def _runs(seat: Seat) -> bool:
    return seat.ref is not None and not seat.waiting
