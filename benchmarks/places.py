"""What an actor costs in each of the four places: a start, a call, a cast, its memory, a kill.

Measured from a thread outside of all actors, one at a time; a process with a spare one ready, as a restart finds it.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import otpy
from benchmarks.far import Far
from benchmarks.measure import memory, percentile
from benchmarks.model import Figures
from benchmarks.otpy_tree import PATIENCE, bench

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.model import Job
    from benchmarks.otpy_tree import Bench

PLACES = ("pool", "thread", "loop", "process")
REST = 0.2
"""Seconds after which a spare process is ready."""


class Plain(otpy.GenServer):
    """An actor of the pool, or of a thread."""

    @otpy.call
    def echo(self, value: int) -> int:
        return value

    @otpy.cast
    def hit(self, number: int) -> None:
        self.number = number


class Looper(otpy.GenServer):
    """An actor of the loop."""

    @otpy.call
    async def echo(self, value: int) -> int:
        return value

    @otpy.cast
    async def hit(self, number: int) -> None:
        self.number = number


CLASSES: dict[str, Any] = {"pool": Plain, "thread": Plain, "loop": Looper, "process": Far}


def place(job: Job, where: str) -> Figures:
    """All five of one place."""
    cls, rest = CLASSES[where], REST if where == "process" else 0.0
    with bench() as b:
        ref = one(b, where)
        idle = crowd_of(b, where, job.size("crowd"))
        started, killed = [], []
        for _ in range(job.size("lives")):
            time.sleep(rest)
            began = time.perf_counter()
            victim = one(b, where)
            started.append(time.perf_counter() - began)
            victim.call(cls.echo, 1)
            monitor = victim.monitor()
            began = time.perf_counter()
            victim.kill()
            monitor.wait(PATIENCE)
            killed.append(time.perf_counter() - began)
        calls = each(job.size("calls"), partial(ref.call, cls.echo), lambda: None)
        casts = each(job.size("casts"), partial(ref.cast, cls.hit), lambda: ref.within(PATIENCE).call(cls.echo, 0))
    values = {"start": percentile(started, 50), "kill": percentile(killed, 50), "call": calls, "cast": casts}
    figures = {f"{where}_{name}_us": seconds * 1e6 for name, seconds in values.items()}
    return Figures(values={**figures, f"{where}_kib": idle / 1024})


def one(b: Bench, where: str) -> Any:
    return b.start([b.spec(CLASSES[where], place=where, restart="temporary")])[0]


def each(count: int, send: Callable[[int], object], until: Callable[[], object]) -> float:
    """Seconds for one of many messages, the best of three goes; the first one warms up."""
    took = []
    for _ in range(4):
        began = time.perf_counter()
        for number in range(count):
            send(number)
        until()
        took.append((time.perf_counter() - began) / count)
    return min(took[1:])


def crowd_of(b: Bench, where: str, count: int) -> float:
    """Bytes of one of so many idle actors; of a process what it shares with no other one, and that in the parent."""
    before = memory()
    refs = [one(b, where) for _ in range(count)]
    for ref in refs:
        ref.call(CLASSES[where].echo, 0)
    own = (memory() - before) / count
    if where == "process":
        own += sum(private(ref.call(Far.pid)) for ref in refs) / count
    for ref in refs:
        ref.kill()
    return own


def private(pid: int) -> int:
    """Bytes of a process that no other one has."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_"))


OTPY: dict[str, Callable[[Job], Figures]] = {f"place_{where}": partial(place, where=where) for where in PLACES}
