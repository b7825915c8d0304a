"""Process children: what a start, a call, a cast and a kill cost, and whether two of them compute at once.

The floor is `multiprocessing` by itself: a forkserver process with a pipe, an echo over `Pipe`, and a `Queue`.
Both sides run the same code in their children, imported by its name.
"""

from __future__ import annotations

import multiprocessing
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import otpy
from benchmarks.measure import percentile, rate
from benchmarks.model import Figures
from benchmarks.otpy_tree import PATIENCE, bench

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

    from benchmarks.model import Job
    from benchmarks.otpy_tree import Bench


def crunch(rounds: int) -> int:
    """Keep one core busy in pure Python."""
    total = 0
    for number in range(rounds):
        total += number & 7
    return total


REST = 0.2
"""Seconds in which the helper has a spare process ready."""


class Far(otpy.GenServer):
    """A process child."""

    place = "process"

    def init(self) -> None:
        self.seen = 0

    @otpy.call
    def echo(self, value: int) -> int:
        return value

    @otpy.cast
    def hit(self, number: int) -> None:
        self.seen += 1

    def handle_call(self, request: Any, caller: otpy.Caller) -> int:
        return crunch(request)


@contextmanager
def warm_bench() -> Iterator[Bench]:
    """A system whose helper runs: it has imported otpy, which may take seconds on a busy machine."""
    with bench() as b:
        b.system.start(Far)
        yield b


def starts(count: int, rest: float) -> list[float]:
    """Seconds of each start, made by an outside thread; after `rest` seconds a spare process is ready."""
    took = []
    with warm_bench() as b:
        for _ in range(count):
            time.sleep(rest)
            began = time.perf_counter()
            ref = b.one(Far)
            took.append(time.perf_counter() - began)
            ref.stop()
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
    """Work on two children at once ÷ on one, both of them warm."""
    rounds = job.size("rounds")
    with warm_bench() as b:
        refs = [b.one(Far), b.one(Far)]

        def work(targets: list[Any]) -> float:
            began = time.perf_counter()
            for future in [ref.ask(rounds, block=False) for ref in targets]:
                future.get(timeout=PATIENCE)
            return len(targets) / (time.perf_counter() - began)

        one = work(refs[:1])
        return Figures(values={"parallel": work(refs) / one})


def _echo(pipe: Connection) -> None:
    pipe.send(None)
    with suppress(EOFError):
        while True:
            pipe.send(pipe.recv())


def _drain(queue: Any, pipe: Connection) -> None:
    pipe.send(None)
    while True:
        if queue.get() is None:
            pipe.send(None)


class _Bare:
    """A forkserver process that has said that it runs."""

    def __init__(self, target: Callable[..., None], *args: Any) -> None:
        context = multiprocessing.get_context("forkserver")
        self.pipe, far = context.Pipe()
        self.process = context.Process(target=target, args=(*args, far), daemon=True)
        self.process.start()
        far.close()

    def close(self) -> None:
        self.pipe.close()
        self.process.kill()
        self.process.join()


def bare_start(job: Job) -> Figures:
    took = []
    for number in range(job.size("starts") + 1):  # the first one starts the server
        began = time.perf_counter()
        bare = _Bare(_echo)
        bare.pipe.recv()
        if number:
            took.append(time.perf_counter() - began)
        bare.close()
    return Figures(values={f"{job.experiment}_ms": percentile(took, 50) * 1_000})


def bare_call(job: Job) -> Figures:
    bare = _Bare(_echo)
    bare.pipe.recv()

    def batch(count: int) -> float:
        send, recv = bare.pipe.send, bare.pipe.recv
        began = time.perf_counter()
        for number in range(count):
            send(number)
            recv()
        return time.perf_counter() - began

    try:
        return rate(job, batch)
    finally:
        bare.close()


def bare_cast(job: Job) -> Figures:
    queue: Any = multiprocessing.get_context("forkserver").Queue()
    bare = _Bare(_drain, queue)
    bare.pipe.recv()

    def batch(count: int) -> float:
        began = time.perf_counter()
        for number in range(count):
            queue.put(number)
        queue.put(None)
        bare.pipe.recv()
        return time.perf_counter() - began

    try:
        return rate(job, batch)
    finally:
        bare.close()


OTPY = {
    "process_start": start,
    "process_start_warm": start_warm,
    "process_call": call,
    "process_cast": cast,
    "process_kill": kill,
    "parallel": parallel,
}
FLOOR = {"process_start": bare_start, "process_call": bare_call, "process_cast": bare_cast}
