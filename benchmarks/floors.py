"""The floor: what raw threads and locks of CPython cost, which no actor on threads can undercut."""

from __future__ import annotations

import sys
import threading
import time
from _thread import LockType, allocate_lock
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmarks import imports, loop_side, processes
from benchmarks.measure import compute, elapsed, percentile, rate, sample, threads
from benchmarks.model import Figures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.model import Job

VERSION = "raw threads"


class Echo:
    """A thread that answers: one raw lock asks, another tells that the answer is there."""

    def __init__(self) -> None:
        self.asked, self.answered = allocate_lock(), allocate_lock()
        self.asked.acquire()
        self.answered.acquire()
        self.open = True
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self) -> None:
        while self.asked.acquire() and self.open:
            self.answered.release()

    def ask(self) -> None:
        self.asked.release()
        self.answered.acquire()

    def close(self) -> None:
        self.open = False
        self.asked.release()
        self.thread.join()


def call(job: Job) -> Figures:
    echo = Echo()

    def batch(count: int) -> float:
        ask = echo.ask
        began = time.perf_counter()
        for _ in range(count):
            ask()
        return time.perf_counter() - began

    try:
        return rate(job, batch)
    finally:
        echo.close()


def nap(job: Job) -> float:
    """Milliseconds until as many threads as actors are started, slept once and ended."""
    sleepers = [threading.Thread(target=time.sleep, args=(job.sizes["nap"],)) for _ in range(job.size("actors"))]

    def work() -> None:
        for thread in sleepers:
            thread.start()
        for thread in sleepers:
            thread.join()

    return elapsed(work) * 1_000


def naps_ready(job: Job) -> Callable[[], float]:
    """Start them now; what it returns lets each go by a lock of its own, and tells the milliseconds as `nap` does."""
    gates = [allocate_lock() for _ in range(job.size("actors"))]

    def sleeper(gate: LockType) -> None:
        gate.acquire()
        time.sleep(job.sizes["nap"])

    sleepers = [threading.Thread(target=sleeper, args=(gate,)) for gate in gates]
    for gate, thread in zip(gates, sleepers, strict=True):
        gate.acquire()
        thread.start()

    def work() -> None:
        for gate in gates:
            gate.release()
        for thread in sleepers:
            thread.join()

    return lambda: elapsed(work) * 1_000


@contextmanager
def computing(count: int) -> Iterator[None]:
    """Keep `count` threads computing meanwhile."""
    halt: list[None] = []
    hogs = [threading.Thread(target=compute, args=(halt,)) for _ in range(count)]
    for hog in hogs:
        hog.start()
    try:
        yield
    finally:
        halt.append(None)
        for hog in hogs:
            hog.join()


def blocking(job: Job) -> Figures:
    return Figures(values={"blocking": nap(job), "blocking@threads_ready": naps_ready(job)()})


def blocking_hog(job: Job) -> Figures:
    """In the same company: one raw thread computes beside the sleepers."""
    alone, go = nap(job), naps_ready(job)
    with computing(1):
        ready, beside = go(), nap(job)
    values = {"blocking_hog": beside, "blocking_hog@threads_alone": alone, "blocking_hog@threads_ready": ready}
    return Figures(values=values)


def fair(job: Job) -> Figures:
    echo = Echo()
    sys.setswitchinterval(job.sizes["switch"] or sys.getswitchinterval())
    try:
        with computing(job.size("hogs")):
            samples = sample(echo.ask, job.sizes["listen"], job.size("most"))
    finally:
        echo.close()
    return Figures(values={f"{job.experiment}_p99_ms": percentile(samples, 99) * 1_000})


def blocked_callers(job: Job) -> Figures:
    """As many threads as callers, each on its own lock, and one that wakes them after a nap."""
    locks = [allocate_lock() for _ in range(job.size("actors"))]
    for lock in locks:
        lock.acquire()
    waiting = [threading.Thread(target=lock.acquire) for lock in locks]
    peaks: list[int] = []

    def work() -> None:
        for thread in waiting:
            thread.start()
        peaks.append(threads())
        time.sleep(job.sizes["nap"])
        for lock in locks:
            lock.release()
        for thread in waiting:
            thread.join()

    took = elapsed(work)
    return Figures(values={"blocked_callers": took, "blocked_callers_threads": peaks[0]})


MEASURES: dict[str, Callable[[Job], Figures]] = {
    "call": call,
    "call_actor": call,
    "blocking": blocking,
    "blocking_hog": blocking_hog,
    "fair_1": fair,
    "fair_8": fair,
    "fair_1_fast": fair,
    "fair_8_fast": fair,
    "blocked_callers": blocked_callers,
    **processes.FLOOR,
    **imports.FLOOR,
    **loop_side.FLOORS,
}
