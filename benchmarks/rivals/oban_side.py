"""oban on PostgreSQL, as its guide to production says: what `oban start` sets up, in this program.

Its settings: a queue with a limit of 10, workers that are coroutines, the pool of its default (1 to 10 connections),
uvloop and orjson, which its command line takes. Its log of each job is off.
"""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import orjson  # type: ignore[import-not-found, unused-ignore]  # a rival may be absent
import uvloop  # type: ignore[import-not-found, unused-ignore]  # as above
from oban import Oban, job, schema  # type: ignore[import-not-found, unused-ignore]  # as above
from psycopg.types.json import set_json_dumps, set_json_loads

from benchmarks.databases import BATCH, CONCURRENCY, counter, database
from benchmarks.measure import rate, wait_for
from benchmarks.model import Figures
from benchmarks.programs import latency, say

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from benchmarks.model import Job

VERSION = version("oban")
LAST = [0]
"""Jobs that have been run by this process."""

KEPT = "select count(*) from oban_jobs where state = 'completed'"

set_json_dumps(orjson.dumps)
set_json_loads(orjson.loads)


@job(queue="default")
async def noop() -> None:
    """Be counted."""
    LAST[0] += 1


@job(queue="default")
async def tell() -> None:
    """Say when it begins."""
    say("begun")


@asynccontextmanager
async def opened(url: str, *, works: bool) -> AsyncIterator[Any]:
    """It works, or enqueues alone."""
    pool = await Oban.create_pool(url)
    try:
        async with Oban(pool=pool, queues={"default": CONCURRENCY} if works else {}) as oban:
            yield oban
    finally:
        await pool.close()


async def put(oban: Any, number: int) -> float:
    """Enqueue so many batches."""
    began = time.perf_counter()
    for _ in range(number):
        await oban.enqueue_many([noop.new() for _ in range(BATCH)])
    return time.perf_counter() - began


async def work_off(url: str, count: int, kept: Callable[[], int]) -> float:
    async with opened(url, works=True) as oban:
        await put(oban, 1)
        await asyncio.to_thread(wait_for, lambda: LAST[0] == BATCH)
        began = time.perf_counter()
        await put(oban, count // BATCH)
        await asyncio.to_thread(wait_for, lambda: LAST[0] == BATCH + count)
        await asyncio.to_thread(wait_for, lambda: kept() == BATCH + count)
        return time.perf_counter() - began


def work(job: Job) -> Figures:
    count = job.size("jobs")
    LAST[0] = 0
    with database() as url:
        uvloop.run(install(url))
        with counter(url, KEPT) as kept:
            return Figures(values={"pg_work": count / uvloop.run(work_off(url, count, kept))})


def enqueue(job: Job) -> Figures:
    with database() as url, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(install(url))
        way = opened(url, works=False)
        oban = runner.run(way.__aenter__())
        try:
            return rate(job, lambda count: runner.run(put(oban, -(-count // BATCH))))
        finally:
            runner.run(way.__aexit__(None, None, None))


def waits(job: Job) -> Figures:
    module = "rivals.oban_side"
    with database() as url:
        uvloop.run(install(url))
        return Figures(values={"pg_latency_p50_ms": latency(job, (module, url, "work"), (module, url, "enqueue"))})


async def install(url: str) -> None:
    """Make its tables."""
    pool = await Oban.create_pool(url)
    await schema.install(pool)
    await pool.close()


async def play(url: str, role: str) -> None:
    """Work, or enqueue one for each line that comes in."""
    async with opened(url, works=role == "work") as oban:
        await asyncio.sleep(0.5)  # it says nothing when it listens
        say("ready")
        if role == "work":
            await asyncio.sleep(600.0)
        while await asyncio.to_thread(sys.stdin.readline):
            at = time.monotonic()
            await oban.enqueue(tell.new())
            say("enqueued", at)


MEASURES: dict[str, Callable[[Job], Figures]] = {"pg_enqueue_bulk": enqueue, "pg_work": work, "pg_latency": waits}

if __name__ == "__main__":
    uvloop.run(play(*sys.argv[1:]))
