"""What otpy's own comforts cost: links, the inspector, a listener; each measured in turn with the same work without."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import otpy
from benchmarks.measure import elapsed, median, rate
from benchmarks.model import OTPY, Figures
from benchmarks.otpy_tree import PATIENCE, Counter, bench

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.model import Job

    Batch = Callable[[int], float]
    """Does so many operations and returns the seconds they took."""

TURNS = 3
"""How often with and without take turns within one measurement."""
CROWD = 1_000
LOOKS = 10
"""Trees a watcher asks for in a second, ten times as often as `otpy tree --watch` does."""


def in_turn(job: Job, with_it: Batch, without: dict[str, Batch], most: int = 2_000_000) -> Figures:
    """One rate as otpy's figure, the others as its peers; all do the same count, in turn."""
    first = rate(job, with_it, most)
    count = first.count
    assert count is not None  # noqa: S101 - `rate` always counts
    rates: dict[str, list[float]] = {}
    for _ in range(TURNS):
        for name, batch in {OTPY: with_it, **without}.items():
            rates.setdefault(name, []).append(count / batch(count))
    values = {f"{job.experiment}@{name}": median(found) for name, found in rates.items()}
    return Figures(values=values, count=count)


class Owner(otpy.GenServer):
    """Starts others one by one, and hears of their ends when it is linked to them."""

    trap_exit = True

    @otpy.call
    def lives(self, count: int, *, linked: bool) -> float:
        return elapsed(lambda: [self._life(linked=linked) for _ in range(count)])

    def _life(self, *, linked: bool) -> None:
        ref = self.system.start(Idle)
        if linked:
            self.link(ref)
        ref.stop()

    def handle_info(self, message: object) -> None:
        """An exit: nothing to do."""


class Idle(otpy.GenServer):
    """Has nothing to do."""


def price_links(job: Job) -> Figures:
    """Short lives with one link each, against lives without."""
    with bench() as b:
        owner = b.one(Owner).within(PATIENCE)
        return in_turn(
            job,
            lambda count: float(owner.call(Owner.lives, count, linked=True)),
            {"without": lambda count: float(owner.call(Owner.lives, count, linked=False))},
        )


def price_inspector(job: Job) -> Figures:
    """Casts while somebody asks for the tree ten times a second, while nobody does, and without a socket."""

    def batch(count: int, *, watched: bool = False, control: str = "operate") -> float:
        with bench(control=control) as b:
            b.grow(CROWD)
            done = threading.Event()
            ref = b.one(Counter, count, done)
            with watcher(b.system.name) if watched else nobody():
                began = time.perf_counter()
                for number in range(count):
                    ref.cast(Counter.hit, number)
                done.wait()
                return time.perf_counter() - began

    return in_turn(
        job,
        lambda count: batch(count, watched=True),
        {"unwatched": batch, "off": lambda count: batch(count, control="off")},
    )


WATCH = """
import sys, time
from otpy.control.client import connect_to
with connect_to(sys.argv[1]) as client:
    client.ask("tree")
    print("ready", flush=True)
    while True:
        time.sleep(1 / float(sys.argv[2]))
        client.ask("tree")
"""


@contextmanager
def watcher(name: str) -> Iterator[None]:
    """Another process that looks at the tree again and again."""
    with subprocess.Popen(
        [sys.executable, "-c", WATCH, name, str(LOOKS)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        try:
            if process.stdout.readline().strip() != b"ready":
                raise RuntimeError("the watcher did not start")
            yield
        finally:
            process.kill()


@contextmanager
def nobody() -> Iterator[None]:
    """No watcher."""
    yield


def price_events(job: Job) -> Figures:
    """Supervised starts, of each of which one listener is told, against starts nobody is told of."""

    def batch(count: int, *, listener: bool) -> float:
        with bench(listener=listener) as b:
            specs = b.specs(count)
            return elapsed(lambda: b.start(specs))

    return in_turn(
        job,
        lambda count: batch(count, listener=True),
        {"without": lambda count: batch(count, listener=False)},
        most=50_000,
    )
