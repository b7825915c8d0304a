"""litequeue: a queue on SQLite with claims; it syncs no commit (`synchronous=NORMAL`), so it may lose the last ones."""

from __future__ import annotations

import time
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from litequeue import LiteQueue  # type: ignore[import-not-found, unused-ignore]  # a rival may be absent

from benchmarks.measure import rate
from benchmarks.model import Figures
from benchmarks.stores import folder, in_threads, one_by_one

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.model import Job

VERSION = version("litequeue")


@contextmanager
def opened() -> Iterator[Any]:
    with folder() as place:
        queue = LiteQueue(str(place / "queue.db"))
        try:
            yield queue
        finally:
            queue.close()


def enqueue(job: Job) -> Figures:
    producers = int(job.sizes.get("producers", 1))
    with opened() as queue:
        if producers == 1:
            return rate(job, lambda count: one_by_one(count, lambda _: queue.put("x")))
        return rate(job, lambda count: in_threads(producers, count, lambda _: queue.put("x")))


def work(job: Job) -> Figures:
    count = job.size("jobs")
    with opened() as queue:
        with queue.transaction("IMMEDIATE"):
            for _ in range(count):
                queue.put("x")
        began = time.perf_counter()
        for _ in range(count):
            message = queue.pop()
            claim = getattr(message, "claim_id", None)  # newer versions have it
            queue.done(message.message_id, **({} if claim is None else {"claim_id": claim}))
        took = time.perf_counter() - began
    return Figures(values={"work": count / took})


MEASURES: dict[str, Callable[[Job], Figures]] = {"enqueue_1": enqueue, "enqueue_16": enqueue, "work": work}
