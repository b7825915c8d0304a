"""The pool: actors that turned busy wait in a run queue; workers that hold a token run their turns.

One token on a build with the GIL: two threads that run Python at once only fight for the interpreter. A worker gives
its token up before it waits inside otpy, and the watchdog gives out more while turns block outside of it.

What guards what: a token is an item that moves between the seats' `tok` lists, each move one `list.pop`. `free` holds
who may begin at once: a worker that rests with its token, or None for a token without a thread. Whoever adds to the run
queue then looks at `free`; whoever adds to `free` then looks at the run queue. So work and a token never lie side by
side unseen. `parked` holds the workers that rest without a token; who pops one hands it a token and releases its lock.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from otpy.core.reason import Crashed
from otpy.errors import ThreadLimitError
from otpy.runtime import seat as seats
from otpy.runtime.death import finish
from otpy.runtime.mailbox import rest_again
from otpy.runtime.ref import Ref
from otpy.runtime.seat import Seat, Slot
from otpy.runtime.stacks import seat_of
from otpy.runtime.turn import after_turn, turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.runtime.home import Home, RunQueue

__all__ = ["BATCH", "Pool", "Worker"]

log = logging.getLogger("otpy")

BATCH = 200
"""Messages one turn handles before the next actor gets the worker."""

SPARE_WORKERS = 256
"""Parked threads kept for the next time many actors block; a thread costs some 50 us to start and 30 KiB to keep."""


class Worker(Seat):
    """A thread of the pool."""

    __slots__ = ("gone", "noted", "parking", "seen")

    def __init__(self, pool: Pool, name: str) -> None:
        """Belong to a pool; `run` starts it."""
        super().__init__()
        self.pool = pool
        self.thread_name = name
        self.parking = seats.take_lock()  # not `lock`: a wake-up meant for a call must never end a rest
        self.seen = self.noted = -1
        self.gone = False


class Pool:
    """The home of actors that have no thread of their own."""

    place = "pool"
    settle = None
    obey = None

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
        # Whom an interrupt or a RecursionError cut off in the middle of being woken: the watchdog mends it. To append
        # is all that can be done there without a further call.
        self.hurt: deque[Ref[Any] | Slot] = deque()
        self.closed = False
        self._lock = threading.RLock()  # guards `workers` and thread numbers; RLock: a `__del__` may send
        self._numbers = 0

    def resume(self, slot: Slot) -> None:
        """Queue a thread of this pool whose answer has come; it goes on when it is handed a token."""
        self.queue.append(slot)
        if self.free:
            self.engage()
        elif self.closed:  # append, then look; `close` sets it, then empties the queue
            self._drain()

    def engage(self) -> bool:
        """Have a free token used, if there is one; False when no thread could be had for it."""
        on_busy = self.on_busy  # read once: another thread that has woken the watchdog, and itself, set it to None
        if on_busy is not None:
            on_busy()  # first: between taking a worker and waking it the handler of a signal may wait for an answer
        try:
            worker = self.free.pop()
        except IndexError:
            return True
        if worker is None:
            return self.hand_out()
        worker.waiting = False  # before the release: `is_idle` must not take a woken worker for a resting one
        worker.parking.release()
        return True

    def hand_out(self) -> bool:
        """Give a token to a worker without one, and wake it; False, and the token free, when no thread could be had."""
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
        while True:
            try:
                worker = self.free.pop()
            except IndexError:
                return False
            if worker is None:
                return True
            has_token = bool(worker.tok)  # not so, if the watchdog took it for stuck and detached it as it went to rest
            worker.tok.clear()  # before others can find it in `parked` and hand it another one
            self.parked.append(worker)
            self._look_whether_closed()
            if has_token:
                return True

    def pass_on(self, seat: Seat, slot: Slot) -> None:  # noqa: ARG002 - for pools that keep account of who waits
        """Give up a seat's token before its thread waits at a slot, so that another turn can run.

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
            self._look_whether_closed()
            return
        seat.tok.append(True)
        message = f"no further thread could be started for an actor to wait in; {len(self.workers)} run"
        raise ThreadLimitError(message)

    def is_idle(self) -> bool:
        """Whether no worker was seen in a turn; only two such looks with no turn begun in between prove rest."""
        return not self.queue and all(worker.waiting for worker in list(self.workers)) and not self.queue

    def close(self) -> None:
        """Let the resting workers end; those in a turn end after it."""
        self.closed = True
        self._wake_resting()
        self._drain()

    def _look_whether_closed(self) -> None:
        """By who has put another worker to rest: append, then look, for `close` sets it, then wakes who rests."""
        if self.closed:
            self._wake_resting()

    def _wake_resting(self) -> None:
        for resting in (self.free, self.parked):
            while resting:
                try:
                    worker = resting.pop()
                except IndexError:
                    break
                if worker is not None:
                    worker.parking.release()

    def _live(self, worker: Worker) -> None:
        """Run, whatever happens: a worker that ended by a mistake of otpy's own would take its token with it."""
        while True:
            try:
                self.run(worker)
            except BaseException as error:
                log.critical("%s: a turn failed outside of its actor's code", worker.thread_name, exc_info=True)
                if worker.ref is not None:
                    finish(worker.ref, Crashed.of(error))
                if self.closed:
                    return
            else:
                return

    def run(self, worker: Worker) -> None:  # noqa: C901, PLR0912 - the hot loop, and one story
        """A worker's life: take the next turn while holding a token, else rest until there is one to take."""
        seats.sit(worker)
        queue, tok, batch, free, parking = self.queue, worker.tok, self.batch, self.free, worker.parking
        while not self.closed:
            if queue and tok:
                try:
                    item = queue.popleft()
                except IndexError:
                    continue
                if worker.late is not None:
                    worker.wake_late()  # only now, when there is more to run; whoever it is must not wait for that
                if item.__class__ is not Ref:
                    if self._hand_over(worker, item):
                        continue
                    break
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
            else:
                worker.ref = None
                if not tok:
                    if not self._park(worker):
                        break
                    continue
                late = worker.late
                if late is not None:
                    worker.late = None
                    late.wake()  # while this one still counts as busy: `is_idle` must see one of them so
                worker.waiting = True  # before it can be found in `free`: who wakes it sets this back
                free.append(worker)
                if queue or self.closed:
                    self.engage()
                    self._look_whether_closed()  # the token that was engaged may have been another one
                elif self.idle_watchers or self.drivers:
                    self._notice_rest()
                parking.acquire()
        self._leave(worker)

    def _leave(self, worker: Worker) -> None:
        if worker.late is not None:
            worker.wake_late()
        with self._lock:
            worker.gone = True
            self.workers.remove(worker)
        if self.closed:
            self._drain()
        self.notice_idle()

    def _drain(self) -> None:
        """Closed for good: let those go on whose answer has come, and drop what dead actors held."""
        while self.queue:
            try:
                item = self.queue.popleft()
            except IndexError:
                return
            if item.__class__ is not Ref:
                item.seat.waiting = False
                item.lock.release()
            elif item.reason is not None:
                after_turn(item)

    def _hand_over(self, worker: Worker, slot: Slot) -> bool:
        """Give the token to the thread whose answer has come; False when this one is to end, to spare or with all."""
        seat = slot.seat
        try:
            worker.tok.pop()
        except IndexError:
            self.resume(slot)  # the watchdog took the token away: somebody else's turn to hand it over
            return True
        seat.waiting = False  # before the worker rests: `is_idle` must see one of them busy
        seat.turns += 1
        worker.ref = None
        is_kept = len(self.parked) < SPARE_WORKERS
        if is_kept:
            worker.waiting = True
            self.parked.append(worker)
        seat.tok.append(True)
        slot.lock.release()
        if not is_kept or self.closed:  # append, then look: `close` sets it, then empties `parked`
            return False
        worker.parking.acquire()
        return True

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

    def cpu_seconds(self, worker: Worker) -> float | None:
        """CPU time of a worker's thread; None where the platform cannot tell, or when it has ended."""
        with self._lock:  # to ask for the clock of a thread that has ended may crash the process
            return None if worker.gone else _cpu_seconds(worker.ident)

    def mend(self, settle: Callable[[], None]) -> None:
        """Put right what an interrupt may have left: an actor that nobody queued, a token that nobody holds.

        `settle` waits long enough for any other thread to be done with its own few steps; what looks lost before and
        after it is lost.
        """
        hurt = [self.hurt.popleft() for _ in range(len(self.hurt))]
        lost = [item for item in hurt if self._is_lost(item)]
        holders, tokens = self._lost_holders(), self._tokens()
        settle()
        for worker in set(holders) & set(self._lost_holders()):
            worker.tok.clear()
            self.parked.append(worker)
        self._look_whether_closed()
        for item in lost:
            if self._is_lost(item):
                home = item.home if isinstance(item, Ref) else self
                home.queue.append(item)
                if home.free:
                    home.engage()
        for _ in range(self.limit - max(tokens, self._tokens()) + len(holders)):
            self.put_back()
        if self.queue and self.free:
            self.engage()

    def _is_lost(self, item: Ref[Any] | Slot) -> bool:
        home: Home = item.home if isinstance(item, Ref) else self
        if item in home.queue:  # type: ignore[operator]  # it can be searched; nobody needs it elsewhere
            return False
        if isinstance(item, Slot):
            return not item.claim and item.seat.waiting and not item.seat.tok
        return item.reason is None and len(item.tok) == 0 and seat_of(item.system, item) is None

    def _lost_holders(self) -> list[Worker]:
        resting = list(self.free)
        # Who wakes one says so in `waiting` before; so it waits, and nobody knows of it any more.
        return [w for w in list(self.workers) if w.tok and w.waiting and w.ref is None and w not in resting]

    def _tokens(self) -> int:
        return sum(len(worker.tok) for worker in list(self.workers)) + list(self.free).count(None)

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
            threading.Thread(target=self._live, args=(worker,), name=worker.thread_name, daemon=True).start()
        except RuntimeError:  # can't start new thread; the watchdog tries again while work waits
            with self._lock:
                self.workers.remove(worker)
            self.free.append(None)
            return False
        return True


def _cpu_seconds(ident: int) -> float | None:
    clock_of = getattr(time, "pthread_getcpuclockid", None)
    if clock_of is None:
        return None
    try:
        return time.clock_gettime(clock_of(ident))
    except (OSError, OverflowError):
        return None
