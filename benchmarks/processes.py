"""Process children: what a start, a call, a cast and a kill cost, and whether two of them compute at once.

The floor is `multiprocessing` by itself: a forkserver process with a pipe, an echo over `Pipe`, a `Queue`, and two
processes that compute. Its server has loaded beforehand what its processes run, and otpy's helper has loaded otpy.
"""

from __future__ import annotations

import multiprocessing
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import otpy
from benchmarks import bare
from benchmarks.far import Far
from benchmarks.measure import elapsed, median, percentile, rate
from benchmarks.model import Figures
from benchmarks.otpy_tree import PATIENCE, bench

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.model import Job
    from benchmarks.otpy_tree import Bench


REST = 0.2
"""Seconds in which the helper has a spare process ready."""


@contextmanager
def warm_bench() -> Iterator[Bench]:
    """A system whose helper runs: it has imported otpy, which may take seconds on a busy machine."""
    with bench() as b:
        b.system.start(Far)
        yield b


def starts(count: int, rest: float) -> list[float]:
    """Seconds of each start, made by an outside thread; after `rest` seconds a spare process is ready.

    Nothing is stopped in between, for meanwhile the next process would be made.
    """
    took = []
    with warm_bench() as b:
        b.one(Far)
        for _ in range(count):
            time.sleep(rest)
            began = time.perf_counter()
            b.one(Far)
            took.append(time.perf_counter() - began)
    return took


def start(job: Job) -> Figures:
    return Figures(values={"process_start_ms": percentile(starts(job.size("starts"), 0.0), 50) * 1_000})


def start_warm(job: Job) -> Figures:
    return Figures(values={"process_start_warm_ms": percentile(starts(job.size("starts"), REST), 50) * 1_000})


def call(job: Job) -> Figures:
    with warm_bench() as b:
        ref = b.one(Far)

        def batch(count: int) -> float:
            began = time.perf_counter()
            for number in range(count):
                ref.call(Far.echo, number)
            return time.perf_counter() - began

        return rate(job, batch)


def cast(job: Job) -> Figures:
    with warm_bench() as b:
        ref = b.one(Far)

        def batch(count: int) -> float:
            began = time.perf_counter()
            for number in range(count):
                ref.cast(Far.hit, number)
            ref.within(PATIENCE).call(Far.echo, 0)
            return time.perf_counter() - began

        return rate(job, batch)


class Tree(otpy.Supervisor):
    max_restarts = 1_000_000

    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Far).opts(name="far")]


def kill(job: Job) -> Figures:
    """From the kill to the answer of a supervisor that has started the replacement."""
    took = []
    with warm_bench() as b:
        tree: Any = b.one(Tree)
        for _ in range(job.size("kills")):
            ref: Any = tree.system.whereis("far")
            time.sleep(REST)
            began = time.perf_counter()
            ref.kill()
            tree.call(otpy.Supervisor.count_children)
            took.append(time.perf_counter() - began)
    return Figures(values={"process_kill_p99_ms": percentile(took, 99) * 1_000})


def parallel(job: Job) -> Figures:
    with warm_bench() as b:
        refs = [b.one(Far), b.one(Far)]
        time.sleep(REST)

        def work(count: int, rounds: int) -> None:
            for future in [ref.ask(rounds, block=False) for ref in refs[:count]]:
                future.get(timeout=PATIENCE)

        return twice(job, work)


def twice(job: Job, work: Callable[[int, int], None]) -> Figures:
    """Work on two processes at once ÷ on one, the middle one of some tries; both of them are warm."""
    rounds, ratios = job.size("rounds"), []
    work(2, rounds // 20)
    for _ in range(job.size("tries")):
        one, two = elapsed(lambda: work(1, rounds)), elapsed(lambda: work(2, rounds))
        ratios.append(2 * one / two)
    return Figures(values={"parallel": median(ratios)})


class _Bare:
    """A forkserver process that has said that it runs."""

    def __init__(self, target: Callable[..., None], *args: Any) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["benchmarks.worker"])
        self.pipe, far = context.Pipe()
        self.process = context.Process(target=target, args=(*args, far), daemon=True)
        self.process.start()
        far.close()

    def close(self) -> None:
        self.pipe.close()
        self.process.kill()
        self.process.join()


def bare_start(job: Job) -> Figures:
    took, made = [], [_Bare(bare.echo)]  # the first one starts the server
    made[0].pipe.recv()
    for _ in range(job.size("starts")):
        began = time.perf_counter()
        made.append(_Bare(bare.echo))
        made[-1].pipe.recv()
        took.append(time.perf_counter() - began)
    for one in made:
        one.close()
    return Figures(values={f"{job.experiment}_ms": percentile(took, 50) * 1_000})


def bare_call(job: Job) -> Figures:
    far = _Bare(bare.echo)
    far.pipe.recv()

    def batch(count: int) -> float:
        send, recv = far.pipe.send, far.pipe.recv
        began = time.perf_counter()
        for number in range(count):
            send(number)
            recv()
        return time.perf_counter() - began

    try:
        return rate(job, batch)
    finally:
        far.close()


def bare_cast(job: Job) -> Figures:
    queue: Any = multiprocessing.get_context("forkserver").Queue()
    far = _Bare(bare.drain, queue)
    far.pipe.recv()

    def batch(count: int) -> float:
        began = time.perf_counter()
        for number in range(count):
            queue.put(number)
        queue.put(None)
        far.pipe.recv()
        return time.perf_counter() - began

    try:
        return rate(job, batch)
    finally:
        far.close()


def bare_parallel(job: Job) -> Figures:
    fars = [_Bare(bare.work), _Bare(bare.work)]
    for far in fars:
        far.pipe.recv()

    def work(count: int, rounds: int) -> None:
        for far in fars[:count]:
            far.pipe.send(rounds)
        for far in fars[:count]:
            far.pipe.recv()

    try:
        return twice(job, work)
    finally:
        for far in fars:
            far.close()


OTPY = {
    "process_start": start,
    "process_start_warm": start_warm,
    "process_call": call,
    "process_cast": cast,
    "process_kill": kill,
    "parallel": parallel,
}
FLOOR = {"process_start": bare_start, "process_call": bare_call, "process_cast": bare_cast, "parallel": bare_parallel}
