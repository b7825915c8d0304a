"""What every side measures with: rates, percentiles, memory, threads, processor time, pauses of the collector."""

from __future__ import annotations

import gc
import os
import statistics
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from benchmarks.model import Figures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.model import Job

T = TypeVar("T")
PAGE = os.sysconf("SC_PAGE_SIZE")
FIRST_COUNT = 200
PAUSE = 0.001
LOOK = 0.002
"""Seconds between two looks whether something has come about."""
NEAR_ENOUGH = 0.7
"""A batch this share of the asked time is long enough; the next would be twice as long."""


def rate(job: Job, batch: Callable[[int], float], most: int = 2_000_000) -> Figures:
    """Grow the count until one batch lasts `job.seconds`; the last batch's rate counts, at least one warmed up.

    Args:
        job: what is asked; its `count` of an earlier round saves the growing.
        batch: does that many operations and returns the seconds they took, without making and clearing the actors.
        most: the largest count this side can bear.
    """
    if job.count is not None:
        return Figures(values={job.experiment: job.count / batch(job.count)}, count=job.count)
    count = min(most, FIRST_COUNT)
    first = took = batch(count)
    while count < most and took < job.seconds * NEAR_ENOUGH:
        count = min(most, int(count * min(20.0, max(2.0, job.seconds / took))))
        took = batch(count)
    if took is first:
        took = batch(count)
    return Figures(values={job.experiment: count / took}, count=count)


def spread(name: str, seconds: Sequence[float], scale: float, unit: str) -> dict[str, float]:
    """The median and the 99th percentile of samples, as rows `name_p50_unit` and `name_p99_unit`."""
    return {f"{name}_p{share}_{unit}": percentile(seconds, share) * scale for share in (50, 99)}


def victims(refs: Sequence[T], job: Job) -> tuple[Sequence[T], Sequence[T]]:
    """Whom to crash, spread over all: a few to warm up, for the first ones load code, and those that count."""
    warm_up, crashes = job.size("warm_up"), job.size("crashes")
    chosen = refs[:: max(1, len(refs) // (crashes + warm_up))]
    return chosen[:warm_up], chosen[warm_up : warm_up + crashes]


def percentile(samples: Sequence[float], share: int) -> float:
    """The sample below which `share` per cent of them lie, by nearest rank."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, len(ordered) * share // 100)]


def median(samples: Sequence[float]) -> float:
    """The middle one of several rounds."""
    return statistics.median(samples)


def elapsed(work: Callable[[], object]) -> float:
    """How many seconds `work` takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def sample(work: Callable[[], object], seconds: float, most: int) -> list[float]:
    """The seconds each of many runs of `work` takes, for so long or so often, whichever ends first; at least once.

    A pause before each lets it begin at a moment of its own: back to back, thousands fit into one slice of the GIL.
    """
    until = time.perf_counter() + seconds
    samples: list[float] = []
    while not samples or (time.perf_counter() < until and len(samples) < most):
        time.sleep(PAUSE)
        samples.append(elapsed(work))
    return samples


def wait_for(condition: Callable[[], bool], seconds: float = 150.0) -> None:
    """Look until it is so."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError(f"not within {seconds:g} s")
        time.sleep(LOOK)


def rss() -> int:
    """The bytes this process holds in memory."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * PAGE


def memory() -> int:
    """The same after a collection."""
    gc.collect()
    return rss()


def threads() -> int:
    """How many threads this process has, those that Python does not know included."""
    fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[17])  # num_threads, the 20th; the first two end with the ")"


def idle_percent(seconds: float) -> float:
    """The share of one core this process uses while it has nothing to do."""
    began = time.process_time()
    time.sleep(seconds)
    return (time.process_time() - began) / seconds * 100


@contextmanager
def collector_pauses() -> Iterator[list[float]]:
    """Collect how long each run of the garbage collector took, in seconds."""
    pauses: list[float] = [0.0]
    began = 0.0

    def watch(phase: str, info: dict[str, int]) -> None:
        nonlocal began
        if phase == "start":
            began = time.perf_counter()
        else:
            pauses.append(time.perf_counter() - began)

    gc.callbacks.append(watch)
    try:
        yield pauses
    finally:
        gc.callbacks.remove(watch)


def compute(halt: list[None]) -> int:
    """Compute in pure Python until something is put into `halt`."""
    x = 1
    while not halt:
        for _ in range(100):
            x = (x * 1_103_515_245 + 12_345) & 0x7FFFFFFF
    return x
