"""huey on SQLite, with the durability it has by default: SQLite's own, a sync for each commit."""

from __future__ import annotations

import time
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from huey import SqliteHuey  # type: ignore[import-not-found, unused-ignore]  # a rival may be absent

from benchmarks.measure import rate
from benchmarks.model import Figures
from benchmarks.stores import folder, in_threads, one_by_one

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.model import Job

VERSION = version("huey")


@contextmanager
def opened() -> Iterator[tuple[Any, Any]]:
    """The queue, and a task that does nothing."""
    with folder() as place:
        huey = SqliteHuey(filename=str(place / "huey.db"))
        task = huey.task()(lambda: None)
        try:
            yield huey, task
        finally:
            huey.storage.close()


def enqueue(job: Job) -> Figures:
    producers = int(job.sizes.get("producers", 1))
    with opened() as (_, task):
        if producers == 1:
            return rate(job, lambda count: one_by_one(count, lambda _: task()))
        return rate(job, lambda count: in_threads(producers, count, lambda _: task()))


def work(job: Job) -> Figures:
    """Its own dequeue and execute, in one thread: faster than its consumer, whose threads share the GIL."""
    count = job.size("jobs")
    with opened() as (huey, task):
        data = huey.serialize_task(task.s())
        with huey.storage.db(commit=True) as cursor:
            cursor.executemany("insert into task (queue, data, priority) values (?, ?, 0)", [(huey.name, data)] * count)
        began = time.perf_counter()
        for _ in range(count):
            huey.execute(huey.dequeue())
        took = time.perf_counter() - began
    return Figures(values={"work": count / took})


MEASURES: dict[str, Callable[[Job], Figures]] = {"enqueue_1": enqueue, "enqueue_16": enqueue, "work": work}
