"""Draining a program of idle agents, each of which has something open; and threads that are told and joined."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import otpy
from benchmarks.model import Figures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.model import Job

__all__ = ["bare_drained", "drained"]

opened = [0]


@contextmanager
def line() -> Iterator[None]:
    """What an agent has open: counted, so that none is left."""
    opened[0] += 1
    yield
    opened[0] -= 1


class Agent(otpy.GenServer):
    """Has a line open, and is told that its program drains."""

    def init(self) -> None:
        self.use(line())

    def handle_drain(self, drain: otpy.Drain) -> None: ...


class Agents(otpy.Supervisor):
    """All of them."""

    def init(self, count: int) -> None:
        self.count = count

    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Agent).opts(id=str(number)) for number in range(self.count)]


def drained(job: Job) -> Figures:
    """From the moment in which the block is left to that in which nothing is left of the tree."""
    with otpy.run(Agents, job.size("agents"), control="off") as system:
        system.wait_idle()
        began = time.perf_counter()
    return _figures(began)


def bare_drained(job: Job) -> Figures:
    """As many threads that wait for an event in a `with` block, told all at once and joined one by one."""
    told = threading.Event()

    def work() -> None:
        with line():
            told.wait()

    threads = [threading.Thread(target=work) for _ in range(job.size("agents"))]
    for thread in threads:
        thread.start()
    began = time.perf_counter()
    told.set()
    for thread in threads:
        thread.join()
    return _figures(began)


def _figures(began: float) -> Figures:
    took = time.perf_counter() - began
    assert opened == [0]  # noqa: S101 - else it was not measured
    return Figures(values={"drain_100_idle_s": took})
