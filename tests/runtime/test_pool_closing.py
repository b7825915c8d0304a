"""A pool that is closed ends its workers, whatever they are about to do at that moment."""

from __future__ import annotations

from typing import Any

from otpy.runtime.pool import Pool, Worker
from otpy.runtime.seat import Slot


class Parked(list[Any]):
    """Closes the pool just after a worker has seen that there is room for it to rest."""

    def __init__(self, pool: Pool) -> None:
        super().__init__()
        self.pool = pool

    def __len__(self) -> int:
        if not self.pool.closed:
            self.pool.close()
        return super().__len__()


class Parking:
    """A rest that nobody would end: `close` has woken all that rested before."""

    def acquire(self) -> None:
        raise AssertionError("it rests in a closed pool")


def test_a_worker_that_hands_over_while_the_pool_is_closed_does_not_rest() -> None:
    """Its thread was left behind for good, once in some hundred runs of whole programs."""
    pool = Pool()
    worker, waiting = Worker(pool, "w"), Worker(pool, "waiting")
    worker.tok.append(True)
    waiting.waiting = True
    worker.parking = Parking()  # type: ignore[assignment]
    slot = Slot(waiting)
    slot.lock.acquire(blocking=False)
    pool.parked = Parked(pool)

    assert not pool._hand_over(worker, slot)

    assert not slot.lock.locked()
    assert list(waiting.tok) == [True]
