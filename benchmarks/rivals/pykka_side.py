"""Bare pykka: a thread per actor, no supervisor; `tell`, `ask` and `start` as its users type them."""

from __future__ import annotations

import threading
import time
from importlib.metadata import version
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, cast

import pykka

from benchmarks.measure import compute, elapsed, idle_percent, memory, percentile, rate, sample, threads
from benchmarks.model import Figures

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.model import Job

    Ref = pykka.ActorRef[Any]  # Any: pykka does not type messages

VERSION = version("pykka")
MOST_ACTORS = 1_000


class Plain(pykka.ThreadingActor):
    use_daemon_thread = True  # so a crowd of them need not be stopped one by one

    def on_receive(self, message: object) -> object:
        return message


class Counter(Plain):
    def __init__(self, left: int, done: threading.Event) -> None:
        super().__init__()
        self.left, self.done = left, done

    def on_receive(self, message: object) -> None:
        self.left -= 1
        if not self.left:
            self.done.set()


class Caller(Plain):
    def on_receive(self, message: Any) -> float:  # Any: pykka does not type messages
        target, count = message
        return asks(target, count)


class Link(Plain):
    """One link of the ring: the first message is its neighbour, the others are hops."""

    def __init__(self, done: threading.Event) -> None:
        super().__init__()
        self.done, self.next = done, self.actor_ref

    def on_receive(self, message: Any) -> None:  # Any: pykka does not type messages
        if not isinstance(message, int):
            self.next = message
        elif message:
            self.next.tell(message - 1)
        else:
            self.done.set()


class Worker(Plain):
    """`on_start` is its init: it runs in the actor's own thread."""

    def __init__(self, up: SimpleQueue[None]) -> None:
        super().__init__()
        self.up = up

    def on_start(self) -> None:
        self.up.put(None)


class Sleeper(Plain):
    def __init__(self, done: SimpleQueue[None]) -> None:
        super().__init__()
        self.done = done

    def on_receive(self, message: Any) -> None:  # Any: pykka does not type messages
        time.sleep(message)
        self.done.put(None)


class Spinner(Plain):
    def on_receive(self, message: Any) -> None:  # Any: pykka does not type messages
        compute(message)


class Slow(Plain):
    nap = 0.0

    def on_receive(self, message: Any) -> None:  # Any: pykka does not type messages
        self.nap, nap = 0.0, self.nap or (message or 0.0)
        time.sleep(nap)


class Asker(Plain):
    def __init__(self, done: SimpleQueue[None]) -> None:
        super().__init__()
        self.done = done

    def on_receive(self, message: Any) -> None:  # Any: pykka does not type messages
        message.ask(None)
        self.done.put(None)


def asks(target: Ref, count: int) -> float:
    began = time.perf_counter()
    for number in range(count):
        target.ask(number)
    return time.perf_counter() - began


def tells(job: Job) -> Figures:
    def batch(count: int) -> float:
        done = threading.Event()
        ref = Counter.start(count, done)
        began = time.perf_counter()
        for number in range(count):
            ref.tell(number)
        done.wait()
        took = time.perf_counter() - began
        ref.stop()
        return took

    return rate(job, batch)


def call(job: Job) -> Figures:
    ref = Plain.start()
    try:
        return rate(job, lambda count: asks(ref, count))
    finally:
        ref.stop()


def call_actor(job: Job) -> Figures:
    target, caller = Plain.start(), Caller.start()
    try:
        return rate(job, lambda count: cast("float", caller.ask((target, count))))
    finally:
        caller.stop()
        target.stop()


def ring(job: Job) -> Figures:
    done = threading.Event()
    links: list[Ref] = [Link.start(done) for _ in range(job.size("actors"))]
    for link, neighbour in zip(links, links[1:] + links[:1], strict=True):
        link.tell(neighbour)

    def batch(count: int) -> float:
        done.clear()
        began = time.perf_counter()
        links[0].tell(count)
        done.wait()
        return time.perf_counter() - began

    try:
        return rate(job, batch)
    finally:
        pykka.ActorRegistry.stop_all()


def start_child(job: Job) -> Figures:
    def batch(count: int) -> float:
        up: SimpleQueue[None] = SimpleQueue()
        began = time.perf_counter()
        for _ in range(count):
            Worker.start(up)
        gather(up, count)
        took = time.perf_counter() - began
        pykka.ActorRegistry.stop_all()
        return took

    return rate(job, batch, MOST_ACTORS)


def gather(answers: SimpleQueue[None], count: int) -> None:
    for _ in range(count):
        answers.get()


def population(job: Job) -> Figures:
    count = job.size("actors")
    Plain.start().ask(None)
    before = memory()
    refs = [Plain.start() for _ in range(count)]
    fresh = memory()
    for ref in refs:
        ref.ask(None)
    used = memory()
    values = {"memory": (fresh - before) / count, "memory_used": (used - before) / count}
    return Figures(values=values | {"idle_cpu_percent": idle_percent(job.sizes["idle"])})


def naps(job: Job) -> Callable[[], float]:
    """Start the sleepers; what it returns has them all sleep, and tells the milliseconds until the last awoke."""
    done: SimpleQueue[None] = SimpleQueue()
    refs = [Sleeper.start(done) for _ in range(job.size("actors"))]

    def work() -> None:
        for ref in refs:
            ref.tell(job.sizes["nap"])
        gather(done, len(refs))

    return lambda: elapsed(work) * 1_000


def blocking(job: Job) -> Figures:
    return Figures(values={"blocking": naps(job)()})


def blocking_hog(job: Job) -> Figures:
    halt: list[None] = []
    go = naps(job)
    Spinner.start().tell(halt)
    took = go()
    halt.append(None)
    return Figures(values={"blocking_hog": took})


def fair(job: Job) -> Figures:
    halt: list[None] = []
    ref = Plain.start()
    for _ in range(job.size("hogs")):
        Spinner.start().tell(halt)
    samples = sample(lambda: ref.ask(None), job.sizes["listen"], job.size("most"))
    halt.append(None)
    return Figures(values={f"{job.experiment}_p99_ms": percentile(samples, 99) * 1_000})


def blocked_callers(job: Job) -> Figures:
    done: SimpleQueue[None] = SimpleQueue()
    server = Slow.start()
    refs = [Asker.start(done) for _ in range(job.size("actors"))]

    def work() -> None:
        server.tell(job.sizes["nap"])
        for ref in refs:
            ref.tell(server)
        gather(done, len(refs))

    took = elapsed(work)
    return Figures(values={"blocked_callers": took, "blocked_callers_threads": threads()})


MEASURES: dict[str, Callable[[Job], Figures]] = {
    "cast": tells,
    "call": call,
    "call_actor": call_actor,
    "call_async": call_actor,
    "ring": ring,
    "start_child": start_child,
    "start_child_one": start_child,
    "start_child_timed": start_child,
    "population": population,
    "blocking": blocking,
    "blocking_hog": blocking_hog,
    "fair_1": fair,
    "fair_8": fair,
    "blocked_callers": blocked_callers,
}
