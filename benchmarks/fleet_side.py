"""otpy's side of fleets: outboxes on files of their own, and the pauses of their agents."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, contextmanager
from random import Random
from typing import TYPE_CHECKING, Any

import otpy
from benchmarks import fleet_beats, fleet_drains
from benchmarks.herd import SEED, figures, play, rounds
from benchmarks.measure import rate
from benchmarks.model import Figures
from benchmarks.otpy_side import VERSION
from benchmarks.stores import folder, in_threads
from otpy.resilience import Outbox, Topic, Turns
from otpy.resilience.outbox.batch import packed
from otpy.resilience.outbox.handle import PAUSES
from otpy.resilience.outbox.route import Route

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from benchmarks.model import Job
    from otpy.resilience import Batch

__all__ = ["MEASURES", "PAYLOAD", "VERSION", "Agent"]

PAYLOAD = {"celsius": 21.5, "unit": 7, "quality": "good"}
MANY = 10_000_000


def nothing(_: Batch) -> None:
    """The receiver."""


@contextmanager
def running(path: Path, **options: Any) -> Iterator[Outbox]:  # Any: as an outbox has them
    """An outbox whose actors run."""
    topics = [Topic("t", rows=MANY, size_bytes=1 << 40)]
    given: dict[str, Any] = {"senders": [nothing], "ramp": 0.0} | options
    one = Outbox("bench", path, topics=topics, **given)
    system = otpy.System("bench")
    try:
        system.start(one.child())
        yield one
    finally:
        system.stop(timeout=60.0)


def put(job: Job) -> Figures:
    """Nothing is sent meanwhile: the receiver is down, as in the outage that an outbox is for."""

    def down(_: Batch) -> None:
        raise ConnectionError

    with folder() as place, running(place / "outbox.db", senders=[down]) as one:
        return rate(job, lambda count: in_threads(16, count, lambda _: one.put("t", PAYLOAD, key="k")))


def drain(job: Job) -> Figures:
    """Rows are stored by the batch, and then one waits until all are gone."""
    count = job.size("rows")
    with folder() as place:
        path = place / "outbox.db"
        fill(path, count)
        began = time.perf_counter()
        with running(path, backoff=otpy.Backoff(first=0.0, most=1.0)) as one:
            one.flush(120.0)
            took = time.perf_counter() - began
            assert one.look().sent == count  # noqa: S101 - else it was not measured
    return Figures(values={"outbox_drain": count / took})


def fill(path: Path, count: int) -> None:
    """An outbox's file with so many rows."""
    with running(path):
        pass
    data = packed(PAYLOAD)
    with closing(sqlite3.connect(path)) as db:
        rows = ((number, data) for number in range(1, count + 1))
        db.executemany("insert into otpy_outbox values ('t', ?, 1, 'k', 0, 0, ?)", rows)
        db.commit()


class Agent:
    """The pauses of one outbox: `Route` is what its actor goes by."""

    def __init__(self) -> None:
        self._route = Route(PAUSES, 30.0, 500)

    def pause(self, chance: Random, asked: float | None) -> float:
        """A turn of its own is kept to, as after a `LaterError`; else it has failed."""
        return self._route.failed(chance.random(), None) if asked is None else asked


def reconnect(job: Job) -> Figures:
    """The hub's `Turns` on simulated time."""
    now = [0.0]
    turns = Turns(job.sizes["rate"], clock=lambda: now[0])

    def call(number: int, at: float) -> tuple[bool, float | None]:
        now[0] = at
        asked = turns.ask(number)
        return asked is None, asked

    rounds["otpy"] += 1
    clients: list[Any] = [Agent() for _ in range(job.size("clients"))]
    return figures(job, "", *play(call, clients, Random(SEED + rounds["otpy"])))


MEASURES: dict[str, Callable[[Job], Figures]] = {
    "outbox_put_16": put,
    "outbox_drain": drain,
    "reconnect": reconnect,
    "hub_beats": fleet_beats.hub,
    "idle_fleet": fleet_beats.idle,
    "drain_100_idle": fleet_drains.drained,
}
