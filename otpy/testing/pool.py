"""The pool of an exploration: one turn at a time, in the order of the seed; the scenario takes part as a thread of it.

There is one token. The scenario's thread holds it while it runs, so nothing else does; when it waits inside otpy the
token goes to a worker, or to whoever's answer was drawn, and comes back through the run queue like any other. Only the
thread with the token touches anything here, so nothing needs a lock.
"""

from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING, Any

from otpy.runtime.nap import Nap
from otpy.runtime.pool import Pool
from otpy.runtime.seat import Seat, Slot, here
from otpy.testing.errors import StalledError
from otpy.testing.loop import Strand
from otpy.testing.loop_thread import LoopThread
from otpy.testing.order import SeededQueue
from otpy.testing.trace import what_for, who

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from otpy.runtime.timers import Timers

__all__ = ["Driver", "SeededPool"]

THREAD_END = 5.0
"""Real seconds in which the threads of a retired pool must have ended."""


class Driver(Seat):
    """The seat of the thread that runs the scenario: outside of all actors, but of the pool, whose token it brings."""

    __slots__ = ("_timers",)

    def __init__(self, pool: SeededPool, timers: Timers) -> None:
        """Hold the token; there must be no other."""
        super().__init__()
        self.pool = pool
        self.tok.append(True)
        self._timers = timers

    def sleep(self, seconds: float) -> None:
        """`otpy.sleep` in the scenario, on the virtual clock like everything."""
        nap = Nap(self)
        timer = self._timers.after(seconds, nap.resolve, None)
        try:
            nap.wait(None)
        finally:
            timer.cancel()


class SeededPool(Pool):
    """A pool for one run after another; its threads are kept from run to run."""

    queue: SeededQueue

    def __init__(self) -> None:
        """Have no thread and no token; `begin` must follow."""
        super().__init__(queue=SeededQueue(self.draw), batch=1)
        self.free.clear()
        self.idle_watchers.append(self._at_rest)  # called by a worker that has nothing left to run
        self.failure: BaseException | None = None
        """Why the run must end: the driver goes on with this error, and nobody else does before."""
        self.loop = LoopThread(self)
        self._waits: dict[Seat, Slot] = {}
        self._driver: Driver | None = None

    def begin(
        self,
        driver: Driver,
        seed: int,
        *,
        check: Callable[[], None],
        step: Callable[[], bool],
        note: Callable[[Any], None],
        suspended: Callable[[], Iterable[str]],
    ) -> None:
        """Start another run.

        Args:
            driver: the seat of the scenario's thread.
            seed: decides the order of turns.
            check: called between any two turns; what it raises is the run's failure.
            step: lets time pass until the next timer has fired; False when there is none.
            note: told what comes next.
            suspended: says who waits without a thread of its own.
        """
        self.chance = random.Random(f"turns {seed}").random  # a text, for the system's own generator has the number
        self._check, self._step, self._note, self._suspended = check, step, note, suspended
        self._driver = driver
        self.failure = None
        self._waits.clear()
        self.drivers.clear()
        self.free.clear()
        self.queue.clear()

    def pass_on(self, seat: Seat, slot: Slot) -> None:
        """Give the token to what is drawn next; it never lies still while anything can happen."""
        if self.failure is not None and seat is self._driver:
            raise self.failure
        if seat is not self.loop:
            self._waits[seat] = slot
        self._find_work()
        if not self.queue or not isinstance(item := self.queue.peek(), Slot):
            super().pass_on(seat, slot)
            return
        # As `_hand_over`, without waking a worker for it; the one that goes on may be the one that waits here.
        self.queue.popleft()
        seat.tok.pop()
        item.seat.tok.append(True)
        item.seat.waiting = False
        item.seat.turns += 1
        item.lock.release()

    def close(self) -> None:
        """Do nothing: what a stopped system still has to run is run, and the threads are kept."""

    def retire(self) -> None:
        """End the threads; those that are stuck in an actor's code end when it returns."""
        resting = {worker.ident for worker in self.workers if worker.waiting}
        super().close()
        self.loop.retire()
        for thread in threading.enumerate():
            if thread.ident in resting:
                thread.join(THREAD_END)

    def waiting(self) -> Iterator[Slot]:
        """Where threads wait."""
        return iter(list(self._waits.values()))

    def is_clean(self) -> bool:
        """Whether nothing is left of a run: nothing to do, nobody waiting, all threads at rest."""
        at_rest = all(worker.waiting and worker.ref is None for worker in self.workers)
        return at_rest and self.loop.waiting and not self.queue and not any(self.waiting())

    def fail(self, error: BaseException) -> None:
        """End the run."""
        self.failure = error
        self.drivers.clear()
        self._break_driver(error)

    def draw(self, items: list[Any]) -> Any:
        """Take one item out of a list: what comes next."""
        here().wake_late()  # who has just been answered may be the next
        try:
            self._check()
        except BaseException as error:  # noqa: BLE001 - raised in the scenario's thread, which need not be this one
            self.fail(error)
        if self.failure is None:
            index = int(self.chance() * len(items))
            items[index], items[-1] = items[-1], items[index]
        else:
            items.sort(key=lambda item: isinstance(item, Slot) and item.seat is self._driver)
        item = items.pop()
        if isinstance(item, Strand):
            self.loop.next = item
        elif isinstance(item, Slot):
            self._waits.pop(item.seat, None)
        self._note(item)
        return item

    def _at_rest(self) -> None:
        if self.free and not self.closed:
            self._find_work()

    def _find_work(self) -> None:
        """With nothing to run, the driver that waits for rest goes on; else time passes; else nothing ever happens."""
        while not self.queue:
            if self.drivers:
                self.drivers.pop().resolve(None)
            elif not self._step():
                threads = [f"{who(slot)} waits{what_for(slot)}" for slot in self.waiting()]
                self._break_driver(StalledError([*threads, *self._suspended()]))
                return

    def _break_driver(self, error: BaseException) -> None:
        slot = self._waits.get(self._driver) if self._driver is not None else None
        if slot is not None:
            slot.break_off(error)
