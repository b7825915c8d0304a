"""The pool: actors that turned busy wait in a run queue; workers that hold a token run their turns.

One token on a build with the GIL: two threads that run Python at once only fight for the interpreter. A worker gives its
token up before it waits inside otpy, and the watchdog gives out more while turns block outside of it.

What guards what: a token is an item that moves between `free` and the seats' `tok` lists, each move one `list.pop`. Whoever
adds to the run queue then looks at `free`; whoever adds to `free` then looks at the run queue. So work and a token never
sit side by side unseen. `parked` holds the workers that wait; who pops one must release its lock.
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
        self.free = [True]
        self.parked: list[Worker] = []
        self.workers: list[Worker] = []
        self.limit = 1  # how many tokens there are; only the watchdog changes it
        self.engagements = 0  # grows with each hand-out of a token; lets `is_idle` see that nothing moved
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
        """Hand a free token to a parked worker, if there is one to hand out; False when no thread could be had."""
        try:
            token = self.free.pop()
        except IndexError:
            return True
        self.engagements += 1
        try:
            worker = self.parked.pop()
        except IndexError:
            return self._start_worker(token)
        worker.tok.append(token)
        worker.waiting = False
        if self.on_busy is not None:
            self.on_busy()
        worker.parking.release()
        return True

    def pass_on(self, seat: Seat) -> None:
        """Give up a seat's token before its thread waits, so that another turn can run.

        Raises:
            ThreadLimitError: no thread is left to go on with; the thread that wanted to wait keeps the token.
        """
        try:
            token = seat.tok.pop()
        except IndexError:
            self.notice_idle()
            return
        self.free.append(token)
        if self.queue:
            if not self.engage():
                self._keep_token(seat)
        else:
            self._wake_driver()
            self.notice_idle()

    def _keep_token(self, seat: Seat) -> None:
        try:
            seat.tok.append(self.free.pop())
        except IndexError:
            return  # another thread became free in the meantime
        message = f"no further thread could be started for an actor to wait in; {len(self.workers)} run"
        raise ThreadLimitError(message)

    def is_idle(self) -> bool:
        """Whether no actor has a message to handle or is handling one; waiting inside otpy counts as rest."""
        before = self.engagements
        at_rest = not self.queue and all(worker.waiting for worker in list(self.workers))
        return at_rest and not self.queue and self.engagements == before

    def close(self) -> None:
        """Let the parked workers end; those in a turn end after it."""
        self.closed = True
        while self.parked:
            try:
                worker = self.parked.pop()
            except IndexError:
                return
            worker.parking.release()

    def run(self, worker: Worker) -> None:
        """A worker's life: take the next turn while holding a token, else wait to be given one."""
        seats.sit(worker)
        queue, tok, batch = self.queue, worker.tok, self.batch
        while not self.closed:
            if not tok:
                if not self._park(worker):
                    break
                continue
            try:
                item = queue.popleft()
            except IndexError:
                self._rest(worker)
                continue
            if item.__class__ is Ref:
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
                    _wake_late(worker)
            else:
                self._hand_over(worker, item)
        with self._lock:
            self.workers.remove(worker)
        self.notice_idle()

    def _hand_over(self, worker: Worker, slot: Slot) -> None:
        """Give the token to the thread whose answer has come."""
        seat = slot.seat
        try:
            seat.tok.append(worker.tok.pop())
        except IndexError:
            self.queue.append(slot)  # the watchdog took the token away: somebody else's turn to hand it over
            if self.free:
                self.engage()
            return
        self.engagements += 1
        worker.waiting = True  # before it can be found in `parked`: who hands it a token sets this back
        self.parked.append(worker)
        seat.waiting = False
        seat.turns += 1
        slot.lock.release()
        worker.parking.acquire()

    def _rest(self, worker: Worker) -> None:
        """Nothing to run: park first, then give the token back, then look again."""
        worker.ref = None
        try:
            token = worker.tok.pop()
        except IndexError:
            return
        worker.waiting = True
        self.parked.append(worker)
        self.free.append(token)
        if self.queue:
            self.engage()
        else:
            self._wake_driver()
            self.notice_idle()
        if worker.late is not None:
            _wake_late(worker)
        worker.parking.acquire()

    def _park(self, worker: Worker) -> bool:
        """Wait without a token; False when there are enough spare threads and this one may end."""
        worker.ref = None
        if len(self.parked) >= SPARE_WORKERS:
            return False
        worker.waiting = True
        self.parked.append(worker)
        self.notice_idle()
        if self.closed:  # append, then look: `close` sets it, then empties `parked`
            return False
        worker.parking.acquire()
        return True

    def notice_idle(self) -> None:
        """Tell those who wait for rest to look again."""
        for watcher in list(self.idle_watchers):
            watcher()

    def _wake_driver(self) -> None:
        """Seeded runs: nothing is left to run, so the test that drives the system goes on."""
        if self.drivers and not self.queue and self.free:
            self.drivers.pop().resolve(None)

    def _start_worker(self, token: bool) -> bool:  # noqa: FBT001 - a token is no flag
        with self._lock:
            self._numbers += 1
            worker = Worker(self, f"otpy-{self._numbers}")
            self.workers.append(worker)
        worker.tok.append(token)
        if self.on_busy is not None:
            self.on_busy()
        try:
            threading.Thread(target=self.run, args=(worker,), name=worker.thread_name, daemon=True).start()
        except RuntimeError:  # can't start new thread; the watchdog tries again while work waits
            with self._lock:
                self.workers.remove(worker)
            self.free.append(worker.tok.pop())
            return False
        return True


def _wake_late(worker: Worker) -> None:
    slot, worker.late = worker.late, None
    if slot is not None:
        slot.wake()
