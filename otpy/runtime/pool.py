"""The pool: actors that turned busy wait in a run queue; workers that hold a token run their turns.

One token on a build with the GIL: two threads that run Python at once only fight for the interpreter. A worker gives its
token up before it waits inside otpy, and the watchdog gives out more while turns block outside of it.

What guards what: a token is an item that moves between the seats' `tok` lists, each move one `list.pop`. `free` holds who
may begin at once: a worker that rests with its token, or None for a token without a thread. Whoever adds to the run queue
then looks at `free`; whoever adds to `free` then looks at the run queue. So work and a token never lie side by side
unseen. `parked` holds the workers that rest without a token; who pops one hands it a token and releases its lock.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from otpy.errors import ThreadLimitError
from otpy.runtime import seat as seats
from otpy.runtime.mailbox import rest_again
from otpy.runtime.ref import Ref
from otpy.runtime.seat import Seat, Slot
from otpy.runtime.turn import after_turn, turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.runtime.home import RunQueue

__all__ = ["Pool", "Worker"]

BATCH = 200
"""Messages one turn handles before the next actor gets the worker."""

SPARE_WORKERS = 256
"""Parked threads kept for the next time many actors block; a thread costs some 50 us to start and 30 KiB to keep."""


class Worker(Seat):
    """A thread of the pool."""

    __slots__ = ("parking", "seen")

    def __init__(self, pool: Pool, name: str) -> None:
        """Belong to a pool; `run` starts it."""
        super().__init__()
        self.pool = pool
        self.thread_name = name
        self.parking = seats.take_lock()  # not `lock`: a wake-up meant for a call must never end a rest
        self.seen = -1


class Pool:
    """The home of actors that have no thread of their own."""

    def __init__(self, *, queue: RunQueue | None = None, batch: int = BATCH, max_threads: int = 1_000) -> None:
        """Make a pool without threads; the first work starts one."""
        self.queue: RunQueue = deque() if queue is None else queue
        self.is_seeded = queue is not None
        self.batch = batch
        self.max_threads = max_threads
        self.free: list[Worker | None] = [None]
        self.parked: list[Worker] = []
        self.workers: list[Worker] = []
        self.limit = 1  # how many tokens there are; only the watchdog changes it
        self.idle_watchers: list[Callable[[], None]] = []
        self.drivers: list[Slot] = []  # seeded runs: who gets the token when nothing is left to run
        self.on_busy: Callable[[], None] | None = None  # wakes the watchdog; set only while it sleeps
        self.closed = False
        self._lock = threading.RLock()  # guards `workers` and thread numbers; RLock: a `__del__` may send
        self._numbers = 0

    def resume(self, slot: Slot) -> None:
        """Queue a thread of this pool whose answer has come; it goes on when it is handed a token."""
        self.queue.append(slot)
        if self.free:
            self.engage()

    def engage(self) -> bool:
        """Have a free token used, if there is one; False when no thread could be had for it."""
        try:
            worker = self.free.pop()
        except IndexError:
            return True
        if self.on_busy is not None:
            self.on_busy()
        if worker is None:
            return self.hand_out()
        worker.waiting = False  # before the release: `is_idle` must not take a woken worker for a resting one
        worker.parking.release()
        return True

    def hand_out(self) -> bool:
        """Give a token to a worker without one, and wake it; False, and the token is free, when no thread could be had."""
        try:
            worker = self.parked.pop()
        except IndexError:
            return self._start_worker()
        worker.tok.append(True)
        worker.waiting = False
        worker.parking.release()
        return True

    def put_back(self) -> None:
        """Make a token free that no thread holds any more."""
        self.free.append(None)
        if self.queue:
            self.engage()

    def take_back(self) -> bool:
        """Take a free token out of the pool; False when none is free."""
        try:
            worker = self.free.pop()
        except IndexError:
            return False
        if worker is not None:
            worker.tok.clear()
            self.parked.append(worker)
        return True

    def pass_on(self, seat: Seat) -> None:
        """Give up a seat's token before its thread waits, so that another turn can run.

        Raises:
            ThreadLimitError: no thread is left to go on with; the thread that wanted to wait keeps the token.
        """
        try:
            seat.tok.pop()
        except IndexError:
            if self.idle_watchers:
                self.notice_idle()
            return
        if self.queue:
            if not self.hand_out():
                self._keep_token(seat)
            return
        self.free.append(None)
        if self.queue:
            self.engage()
        else:
            self._notice_rest()

    def _keep_token(self, seat: Seat) -> None:
        try:
            worker = self.free.pop()
        except IndexError:
            return  # another thread became free in the meantime
        if worker is not None:
            self.free.append(worker)
            return
        seat.tok.append(True)
        message = f"no further thread could be started for an actor to wait in; {len(self.workers)} run"
        raise ThreadLimitError(message)

    def is_idle(self) -> bool:
        """Whether no actor has a message to handle or is handling one; waiting inside otpy counts as rest."""
        workers = list(self.workers)
        before = sum(worker.turns for worker in workers)
        at_rest = not self.queue and all(worker.waiting for worker in workers)
        return at_rest and not self.queue and sum(worker.turns for worker in workers) == before

    def close(self) -> None:
        """Let the resting workers end; those in a turn end after it."""
        self.closed = True
        for resting in (self.free, self.parked):
            while resting:
                try:
                    worker = resting.pop()
                except IndexError:
                    break
                if worker is not None:
                    worker.parking.release()

    def run(self, worker: Worker) -> None:
        """A worker's life: take the next turn while holding a token, else rest until there is one to take."""
        seats.sit(worker)
        queue, tok, batch, free, parking = self.queue, worker.tok, self.batch, self.free, worker.parking
        while not self.closed:
            if queue and tok:
                try:
                    item = queue.popleft()
                except IndexError:
                    continue
                if item.__class__ is not Ref:
                    self._hand_over(worker, item)
                    continue
                worker.turns += 1
                worker.ref = item
                context = item.context
                if context is None:
                    context = item.new_context()
                context.run(turn, item, batch, worker)
                if item.mailbox or item.alert:
                    after_turn(item)
                else:
                    # As `mailbox.rest`, written out: put `tok` back, then look again.
                    item.current = None
                    item.tok.append(True)
                    if item.mailbox or item.alert:
                        rest_again(item)
                if worker.late is not None and (queue or not tok):
                    worker.wake_late()
            else:
                worker.ref = None
                if not tok:
                    if not self._park(worker):
                        break
                    continue
                worker.waiting = True  # before it can be found in `free`: who wakes it sets this back
                free.append(worker)
                if queue or self.closed:
                    self.engage()
                elif self.idle_watchers or self.drivers:
                    self._notice_rest()
                late = worker.late
                if late is not None:
                    worker.late = late.wake()  # None
                parking.acquire()
        self._leave(worker)

    def _leave(self, worker: Worker) -> None:
        if worker.late is not None:
            worker.wake_late()
        with self._lock:
            self.workers.remove(worker)
        self.notice_idle()

    def _hand_over(self, worker: Worker, slot: Slot) -> None:
        """Give the token to the thread whose answer has come."""
        seat = slot.seat
        try:
            worker.tok.pop()
        except IndexError:
            self.resume(slot)  # the watchdog took the token away: somebody else's turn to hand it over
            return
        worker.ref = None
        worker.waiting = True
        self.parked.append(worker)
        seat.tok.append(True)
        seat.waiting = False
        seat.turns += 1
        slot.lock.release()
        worker.parking.acquire()

    def _park(self, worker: Worker) -> bool:
        """Rest without a token; False when there are enough spare threads and this one may end."""
        if worker.late is not None:
            worker.wake_late()
        if len(self.parked) >= SPARE_WORKERS:
            return False
        worker.waiting = True
        self.parked.append(worker)
        self.notice_idle()
        if self.closed:  # append, then look: `close` sets it, then empties `parked`
            return False
        if self.queue and self.free:
            self.engage()  # it was woken for work, but the watchdog had taken its token
        worker.parking.acquire()
        return True

    def notice_idle(self) -> None:
        """Tell those who wait for rest to look again."""
        for watcher in list(self.idle_watchers):
            watcher()

    def _notice_rest(self) -> None:
        """Nothing is left to run: in a seeded run the test that drives the system goes on."""
        if self.drivers and not self.queue and self.free:
            self.drivers.pop().resolve(None)
        self.notice_idle()

    def _start_worker(self) -> bool:
        with self._lock:
            self._numbers += 1
            worker = Worker(self, f"otpy-{self._numbers}")
            self.workers.append(worker)
        worker.tok.append(True)
        try:
            threading.Thread(target=self.run, args=(worker,), name=worker.thread_name, daemon=True).start()
        except RuntimeError:  # can't start new thread; the watchdog tries again while work waits
            with self._lock:
                self.workers.remove(worker)
            self.free.append(None)
            return False
        return True
