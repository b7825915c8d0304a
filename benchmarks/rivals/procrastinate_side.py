"""procrastinate on PostgreSQL, as its documentation says: an asynchronous worker beside `PsycopgConnector`.

Its settings: `concurrency` 10, tasks that are coroutines, LISTEN/NOTIFY on, jobs kept when they are done, all as its
worker has them by default but for the concurrency; the pool may have a connection for each job that runs at once and
two for itself, where psycopg's default would be 4. Its log of each job is off.
"""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import procrastinate  # type: ignore[import-not-found, unused-ignore]  # a rival may be absent

from benchmarks.databases import BATCH, CONCURRENCY, counter, database
from benchmarks.measure import rate, wait_for
from benchmarks.model import Figures
from benchmarks.programs import latency, say

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from benchmarks.model import Job

VERSION = version("procrastinate")
LAST = [0]
"""Jobs that have been run by this process."""
KEPT = "select count(*) from procrastinate_jobs where status = 'succeeded'"
NOTHING: list[dict[str, Any]] = [{}] * BATCH


def made(url: str) -> tuple[Any, Any, Any]:
    """The app, a task that does nothing but be counted, and one that tells when it begins."""
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url, max_size=CONCURRENCY + 2))

    async def noop() -> None:
        LAST[0] += 1

    async def tell() -> None:
        say("begun")

    return app, app.task(name="noop")(noop), app.task(name="tell")(tell)


@asynccontextmanager
async def working(app: Any) -> AsyncIterator[None]:
    """A worker in this program."""
    worker = asyncio.create_task(app.run_worker_async(concurrency=CONCURRENCY, install_signal_handlers=False))
    try:
        yield
    finally:
        worker.cancel()
        await asyncio.wait([worker])


async def work_off(url: str, count: int, kept: Callable[[], int]) -> float:
    app, noop, _ = made(url)
    async with app.open_async(), working(app):
        await noop.batch_defer_async(*NOTHING)
        await asyncio.to_thread(wait_for, lambda: LAST[0] == BATCH)
        began = time.perf_counter()
        for _ in range(count // BATCH):
            await noop.batch_defer_async(*NOTHING)
        await asyncio.to_thread(wait_for, lambda: LAST[0] == BATCH + count)
        await asyncio.to_thread(wait_for, lambda: kept() == BATCH + count)
        return time.perf_counter() - began


def work(job: Job) -> Figures:
    count = job.size("jobs")
    LAST[0] = 0
    with database() as url:
        asyncio.run(install(url))
        with counter(url, KEPT) as kept:
            return Figures(values={"pg_work": count / asyncio.run(work_off(url, count, kept))})


def enqueue(job: Job) -> Figures:
    async def times(noop: Any, number: int) -> float:
        began = time.perf_counter()
        for _ in range(number):
            await noop.batch_defer_async(*NOTHING)
        return time.perf_counter() - began

    with database() as url, asyncio.Runner() as runner:
        runner.run(install(url))
        app, noop, _ = made(url)
        runner.run(app.open_async().__aenter__())
        try:
            return rate(job, lambda count: runner.run(times(noop, -(-count // BATCH))))
        finally:
            runner.run(app.close_async())


def waits(job: Job) -> Figures:
    module = "rivals.procrastinate_side"
    with database() as url:
        asyncio.run(install(url))
        return Figures(values={"pg_latency_p50_ms": latency(job, (module, url, "work"), (module, url, "enqueue"))})


async def install(url: str) -> None:
    """Make its tables."""
    app, *_ = made(url)
    async with app.open_async():
        await app.schema_manager.apply_schema_async()


async def play(url: str, role: str) -> None:
    """Work, or enqueue one for each line that comes in."""
    app, _, tell = made(url)
    async with app.open_async():
        if role == "work":
            async with working(app):
                await asyncio.sleep(0.5)  # it says nothing when it listens
                say("ready")
                await asyncio.sleep(600.0)
        say("ready")
        while await asyncio.to_thread(sys.stdin.readline):
            at = time.monotonic()
            await tell.defer_async()
            say("enqueued", at)


MEASURES: dict[str, Callable[[Job], Figures]] = {"pg_enqueue_bulk": enqueue, "pg_work": work, "pg_latency": waits}

if __name__ == "__main__":
    asyncio.run(play(*sys.argv[1:]))
