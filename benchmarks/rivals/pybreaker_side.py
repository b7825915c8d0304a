"""pybreaker: a circuit breaker that holds a lock while the call runs."""

from __future__ import annotations

import time
from importlib.metadata import version
from typing import TYPE_CHECKING

from pybreaker import CircuitBreaker  # type: ignore[import-not-found, unused-ignore]  # a rival may be absent

from benchmarks.measure import rate
from benchmarks.model import Figures
from benchmarks.stores import in_threads, one_by_one

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.model import Job

VERSION = version("pybreaker")


def nothing() -> None:
    """What is called."""


def nap() -> None:
    """A call that takes a millisecond."""
    time.sleep(0.001)


def breaker_1(job: Job) -> Figures:
    call = CircuitBreaker()(nothing)
    return rate(job, lambda count: one_by_one(count, lambda _: call()))


def breaker_16(job: Job) -> Figures:
    threads, calls = job.size("threads"), job.size("calls")
    call = CircuitBreaker()(nap)
    took = in_threads(threads, threads * calls, lambda _: call())
    return Figures(values={"breaker_16": threads * calls / took})


MEASURES: dict[str, Callable[[Job], Figures]] = {"breaker_1": breaker_1, "breaker_16": breaker_16}
