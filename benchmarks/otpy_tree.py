"""The tree every otpy row runs in: named, linked children, the inspector on, a listener to every event.

As otpy's users type it, with the default options; no row has a way of its own through the library.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import otpy
from benchmarks.measure import compute

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator
    from queue import SimpleQueue

    from otpy.events import Event

BATCH = 1_000
MANY = 10_000_000
PATIENCE = 120.0
"""Seconds for a call that does the measuring; the measured calls have their default."""


class Worker(otpy.GenServer):
    """One of a crowd; `number` is its state, as small as Erlang's in the same row."""

    def init(self, number: int) -> None:
        self.number = number

    @otpy.call
    def echo(self, value: int) -> int:
        return value

    @otpy.call
    def call_often(self, target: otpy.Ref[Worker], count: int) -> float:
        return calls(target, count)

    @otpy.cast
    def nap(self, seconds: float, done: SimpleQueue[None]) -> None:
        time.sleep(seconds)
        done.put(None)

    @otpy.cast
    def spin(self, halt: list[None]) -> None:
        compute(halt)

    @otpy.cast
    def ask(self, server: otpy.Ref[Slow], done: SimpleQueue[None]) -> None:
        server.within(PATIENCE).call(Slow.answer)
        done.put(None)


class Counter(otpy.GenServer):
    def init(self, left: int, done: threading.Event) -> None:
        self.left, self.done = left, done

    @otpy.cast
    def hit(self, number: int) -> None:
        self.left -= 1
        if not self.left:
            self.done.set()


class Link(otpy.GenServer):
    def init(self, done: threading.Event) -> None:
        self.done = done

    @otpy.call
    def join(self, neighbour: otpy.Ref[Link]) -> None:
        self.neighbour = neighbour

    @otpy.cast
    def hop(self, left: int) -> None:
        if left:
            self.neighbour.cast(Link.hop, left - 1)
        else:
            self.done.set()


class Slow(otpy.GenServer):
    def init(self, nap: float) -> None:
        self.nap = nap

    @otpy.call
    def answer(self) -> None:
        self.nap, nap = 0.0, self.nap
        time.sleep(nap)


class Fragile(otpy.GenServer):
    def init(self, ups: SimpleQueue[float]) -> None:
        ups.put(time.perf_counter())

    @otpy.cast
    def crash(self) -> None:
        raise RuntimeError("boom")


class Tree(otpy.Supervisor):
    """A supervisor of one crowd, which may restart as often as a benchmark wants."""

    def children(self) -> list[otpy.ChildSpec]:
        crowd = otpy.dynamic(Worker, max_restarts=MANY, max_seconds=1.0)
        return [crowd.opts(id="crowd", name="crowd")]


class Listener:
    """Counts events of every type."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, event: Event) -> None:
        self.count += 1


class Bench:
    """An open system, its crowd's supervisor, and numbers that make names."""

    def __init__(self, system: otpy.System) -> None:
        self.system = system
        self.crowd: Any = system.whereis("crowd")  # Any: a look-up by text does not know the class
        self.made = 0

    def spec(self, what: Any, *args: object, **options: Any) -> otpy.ChildSpec:  # Any: as `otpy.child` and `opts`
        """A child's specification, with a name of its own."""
        self.made += 1
        return otpy.child(what, *args).opts(name=f"actor-{self.made}", **options)

    def specs(self, count: int, what: Any = Worker, *args: object, **options: Any) -> list[otpy.ChildSpec]:
        return [self.spec(what, *(args or (0,)), **options) for _ in range(count)]

    def start(self, specs: list[otpy.ChildSpec]) -> list[Any]:
        """Start children, a message for each thousand; their references."""
        refs: list[Any] = []
        for first in range(0, len(specs), BATCH):
            refs += self.crowd.call(otpy.DynamicSupervisor.start_children, specs[first : first + BATCH])
        return refs

    def one(self, what: Any, *args: object) -> Any:
        """Start one child; its reference."""
        return self.start([self.spec(what, *args)])[0]

    def grow(self, count: int) -> list[Any]:
        """Start so many workers without holding all their specifications at once."""
        return [ref for first in range(0, count, BATCH) for ref in self.start(self.specs(min(BATCH, count - first)))]


@contextmanager
def bench(*, listener: bool = True, **options: Any) -> Iterator[Bench]:
    """Open a system with the default options (but those given), and a listener to all events."""
    with otpy.run(Tree, name="bench", **options) as system, ExitStack() as ends:
        if listener:
            ends.callback(system.events.attach(Listener()))
        yield Bench(system)


def calls(target: otpy.Ref[Worker], count: int) -> float:
    began = time.perf_counter()
    for number in range(count):
        target.call(Worker.echo, number)
    return time.perf_counter() - began


def gather(answers: SimpleQueue[None], count: int) -> None:
    for _ in range(count):
        answers.get(timeout=PATIENCE)
