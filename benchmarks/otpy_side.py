"""otpy's side: each row in an open system of `benchmarks.otpy_tree`."""

from __future__ import annotations

import gc
import threading
import time
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import otpy
from benchmarks import imports, loop_side, places, prices, processes
from benchmarks.measure import (
    collector_pauses,
    elapsed,
    idle_percent,
    memory,
    percentile,
    rate,
    rss,
    sample,
    spread,
    threads,
    victims,
)
from benchmarks.model import Figures
from benchmarks.otpy_tree import PATIENCE, Bench, Counter, Fragile, Link, Slow, Worker, bench, calls, gather

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.model import Job

try:
    VERSION = version("otpy")
except PackageNotFoundError:  # run from its source
    VERSION = "from source"

MOST_STARTS = 50_000


def cast(job: Job) -> Figures:
    with bench() as b:

        def batch(count: int) -> float:
            done = threading.Event()
            ref = b.one(Counter, count, done)
            began = time.perf_counter()
            for number in range(count):
                ref.cast(Counter.hit, number)
            done.wait()
            return time.perf_counter() - began

        return rate(job, batch)


def call(job: Job) -> Figures:
    with bench() as b:
        ref = b.one(Worker, 0)
        return rate(job, lambda count: calls(ref, count))


def call_actor(job: Job) -> Figures:
    with bench() as b:
        caller, target = b.one(Worker, 0), b.one(Worker, 0)
        return rate(job, lambda count: float(caller.within(PATIENCE).call(Worker.call_often, target, count)))


def ring(job: Job) -> Figures:
    with bench() as b:
        done = threading.Event()
        links = b.start(b.specs(job.size("actors"), Link, done))
        for link, neighbour in zip(links, links[1:] + links[:1], strict=True):
            link.call(Link.join, neighbour)

        def batch(count: int) -> float:
            done.clear()
            began = time.perf_counter()
            links[0].cast(Link.hop, count)
            done.wait()
            return time.perf_counter() - began

        return rate(job, batch)


def start_child(job: Job, **options: float) -> Figures:
    def batch(count: int) -> float:
        with bench() as b:
            specs = b.specs(count, **options)
            return elapsed(lambda: b.start(specs))

    return rate(job, batch, MOST_STARTS)


def start_child_timed(job: Job) -> Figures:
    return start_child(job, start_timeout=5.0)


def start_child_one(job: Job) -> Figures:
    def batch(count: int) -> float:
        with bench() as b:
            began = time.perf_counter()
            for _ in range(count):
                b.crowd.call(otpy.DynamicSupervisor.start_child, b.spec(Worker, 0))
            return time.perf_counter() - began

    return rate(job, batch, MOST_STARTS)


def population(job: Job) -> Figures:
    count = job.size("actors")
    with bench() as b:
        calls(b.grow(100)[0], 1)  # the first ones load code
        before = memory()
        refs = b.grow(count)
        fresh = memory()
        for ref in refs:
            calls(ref, 1)
        used = memory()
        values = {"memory": (fresh - before) / count, "memory_used": (used - before) / count}
        return Figures(values=values | {"idle_cpu_percent": idle_percent(job.sizes["idle"])})


def restart(job: Job) -> Figures:
    ups: SimpleQueue[float] = SimpleQueue()

    def crash(ref: Any) -> float:
        began = time.perf_counter()
        ref.cast(Fragile.crash)
        return ups.get(timeout=PATIENCE) - began

    with bench() as b:
        refs = b.start(b.specs(job.size("actors"), Fragile, ups))
        for _ in refs:
            ups.get(timeout=PATIENCE)
        warm_up, counted = victims(refs, job)
        for ref in warm_up:
            crash(ref)
        return Figures(values=spread("restart", [crash(ref) for ref in counted], 1e6, "us"))


def nap(b: Bench, job: Job) -> float:
    done: SimpleQueue[None] = SimpleQueue()
    refs = b.grow(job.size("actors"))

    def work() -> None:
        for ref in refs:
            ref.cast(Worker.nap, job.sizes["nap"], done)
        gather(done, len(refs))

    return elapsed(work) * 1_000


def blocking(job: Job) -> Figures:
    with bench() as b:
        return Figures(values={"blocking": nap(b, job)})


@contextmanager
def spinning(b: Bench, count: int) -> Iterator[None]:
    """Keep so many actors computing meanwhile."""
    halt: list[None] = []
    for ref in b.grow(count):
        ref.cast(Worker.spin, halt)
    try:
        yield
    finally:
        halt.append(None)


def blocking_hog(job: Job) -> Figures:
    with bench() as b, spinning(b, 1):
        return Figures(values={"blocking_hog": nap(b, job)})


def fair(job: Job) -> Figures:
    with bench(switch_interval=job.sizes["switch"] or None) as b:
        ref = b.one(Worker, 0).within(PATIENCE)
        with spinning(b, job.size("hogs")):
            samples = sample(lambda: ref.call(Worker.echo, 0), job.sizes["listen"], job.size("most"))
        return Figures(values={f"{job.experiment}_p99_ms": percentile(samples, 99) * 1_000})


def blocked_callers(job: Job) -> Figures:
    done: SimpleQueue[None] = SimpleQueue()
    with bench() as b:
        server, refs = b.one(Slow, job.sizes["nap"]), b.grow(job.size("actors"))
        with peak_of_threads() as peak:
            began = time.perf_counter()
            for ref in refs:
                ref.cast(Worker.ask, server, done)
            gather(done, len(refs))
            took = time.perf_counter() - began
        return Figures(values={"blocked_callers": took, "blocked_callers_threads": max(peak)})


@contextmanager
def peak_of_threads() -> Iterator[list[int]]:
    """Look now and then how many threads there are."""
    seen, over = [threads()], threading.Event()

    def look() -> None:
        while not over.wait(0.02):
            seen.append(threads())

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield seen
    finally:
        over.set()
        watcher.join()


SHARES = {"million_bytes_at_1_percent": 100, "million_bytes_at_10_percent": 10, "million_bytes": 1}


def million(job: Job) -> Figures:
    """Grow in three steps, count, collect, stop. A smaller crowd than a million is scaled up, and the rows say so."""
    count, up, values = job.size("actors"), 0, {"million_start_s": 0.0}
    with bench() as b, collector_pauses() as pauses:
        b.grow(100)  # the first ones load code
        before = rss()
        for name, share in SHARES.items():
            began = time.perf_counter()
            b.grow(count // share - up)
            values["million_start_s"] += time.perf_counter() - began
            up = count // share
            values[name] = (rss() - before) / up
        ask = b.crowd.within(PATIENCE).call
        values["million_count_ms"] = elapsed(lambda: ask(otpy.DynamicSupervisor.count_children)) * 1_000
        values["million_gc_ms"] = max(pauses) * 1_000
        values["million_gc_full_ms"] = elapsed(gc.collect) * 1_000
        began = time.perf_counter()
    values["million_stop_s"] = time.perf_counter() - began
    values["million_mib"] = (before + values["million_bytes"] * count) / 2**20
    values["million_bytes@at_1_percent"] = values["million_bytes_at_1_percent"]
    return scaled(values, count)


def scaled(values: dict[str, float], count: int) -> Figures:
    """What grows with the crowd as it would be for a million, and a note on each row that was not measured there."""
    factor = 1_000_000 / count
    if factor == 1:
        return Figures(values=values)
    grows = {"million_start_s", "million_count_ms", "million_stop_s", "million_mib", "million_gc_full_ms"}
    notes = {
        name: f"{count:,} actors" + (f", multiplied by {factor:g}" if name in grows else "")
        for name in values
        if "@" not in name
    }
    return Figures(values={k: v * factor if k in grows else v for k, v in values.items()}, notes=notes)


MEASURES: dict[str, Callable[[Job], Figures]] = {
    "cast": cast,
    "call": call,
    "call_actor": call_actor,
    "ring": ring,
    "start_child": start_child,
    "start_child_one": start_child_one,
    "start_child_timed": start_child_timed,
    "population": population,
    "restart": restart,
    "blocking": blocking,
    "blocking_hog": blocking_hog,
    "fair_1": fair,
    "fair_8": fair,
    "fair_1_fast": fair,
    "fair_8_fast": fair,
    "blocked_callers": blocked_callers,
    "million": million,
    **imports.OTPY,
    "price_links": prices.price_links,
    "price_inspector": prices.price_inspector,
    "price_events": prices.price_events,
    **processes.OTPY,
    **places.OTPY,
    **loop_side.MEASURES,
}
