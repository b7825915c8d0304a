"""A worker that rests is woken, also at the end of the pool, whatever others are about to do at that moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
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
    """A rest in a closed pool, which nobody ends any more who has not done so before."""

    is_ended = False

    def release(self) -> None:
        self.is_ended = True

    def acquire(self) -> None:
        assert self.is_ended, "it rests in a closed pool"


class ClosingToken(list[Any]):
    """A token in whose taking away the pool is closed: its worker is in no list just then."""

    def __init__(self, pool: Pool) -> None:
        super().__init__([True])
        self.pool = pool

    def clear(self) -> None:
        super().clear()
        self.pool.close()


class ClosingFree(list[Any]):
    """Closes the pool between a worker's being taken out, to see what it is, and its being put back."""

    def __init__(self, pool: Pool, worker: Worker) -> None:
        super().__init__([worker])
        self.pool = pool

    def pop(self, *args: Any) -> Any:
        worker = super().pop(*args)
        if not self.pool.closed:
            self.pool.close()
        return worker


class AnothersToken(list[Any]):
    """Just before a worker can be found in it the pool is closed, just after it another's token becomes free."""

    def __init__(self, pool: Pool) -> None:
        super().__init__()
        self.pool = pool

    def append(self, worker: Any) -> None:
        self.pool.close()
        super().append(worker)
        super().append(None)


class Rung(Pool):
    """Its watchdog has been woken by another thread between any two looks at whether it sleeps."""

    is_first = True

    @property
    def on_busy(self) -> Any:
        is_first, self.is_first = self.is_first, False
        return (lambda: None) if is_first else None

    @on_busy.setter
    def on_busy(self, wake: Any) -> None:
        pass


def resting(pool: Pool) -> Worker:
    """A worker that rests with a token, in no list yet."""
    worker = Worker(pool, "w")
    worker.waiting = True
    worker.tok = ClosingToken(pool)
    return worker


def is_woken(worker: Worker) -> bool:
    return worker.parking.acquire(blocking=False)


def test_a_worker_whose_token_is_taken_back_while_the_pool_is_closed_does_not_rest() -> None:
    """By the watchdog, whom the end of a system does not wait for. Its thread was left behind for good."""
    pool = Pool()
    worker = resting(pool)
    pool.free = [worker]

    assert pool.take_back()

    assert is_woken(worker)
    assert (pool.free, pool.parked) == ([], [])


def test_a_worker_that_is_looked_at_while_the_pool_is_closed_does_not_rest() -> None:
    pool = Pool()
    worker = Worker(pool, "w")
    pool.free = ClosingFree(pool, worker)

    pool._keep_token(Worker(pool, "who wants to wait"))

    assert is_woken(worker)
    assert pool.free == []


def test_a_worker_that_is_put_right_while_the_pool_is_closed_does_not_rest() -> None:
    """An interrupt has left it with a token, in no list."""
    pool = Pool()
    worker = resting(pool)
    pool.workers = [worker]

    pool.mend(lambda: None)

    assert is_woken(worker)
    assert pool.parked == []


def test_a_worker_that_goes_to_rest_as_another_token_becomes_free_in_a_closed_pool_does_not_rest() -> None:
    """It engaged that token, and not itself."""
    pool = Pool()
    pool.free = AnothersToken(pool)
    worker = Worker(pool, "w")
    worker.tok.append(True)
    worker.parking = Parking()  # type: ignore[assignment]
    pool.workers = [worker]

    with ThreadPoolExecutor(1) as aside:
        aside.submit(pool.run, worker).result()

    assert worker.gone


def test_a_worker_is_woken_though_another_thread_wakes_the_watchdog_just_then() -> None:
    """Else whoever did so met a TypeError, and the worker and its token were lost."""
    pool = Rung()
    worker = Worker(pool, "w")
    pool.free = [worker]

    assert pool.engage()

    assert is_woken(worker)


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
