"""otpy's side of jobs: engines on stores of their own, in this program or in others."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import otpy
from benchmarks.measure import median, percentile, rate, wait_for
from benchmarks.model import Figures
from benchmarks.otpy_side import VERSION
from benchmarks.programs import started
from benchmarks.stores import folder, in_threads, one_by_one
from otpy import jobs
from otpy.jobs.model.claim import Ask, Settled
from otpy.jobs.model.lead import Fence
from otpy.jobs.model.new import NewJob
from otpy.jobs.store.sqlite import SqliteStore
from otpy.resilience import Breaker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from benchmarks.model import Job

__all__ = ["MEASURES", "VERSION"]

FAR = 3_600.0
AT_ONCE = jobs.Retry(errors=1_000_000, crashes=1_000_000, backoff=otpy.Backoff(first=0.0, most=0.0))
TIMES: dict[int, list[float]] = {}
"""When each attempt of a job began, by its number."""
BATCH = 50
FILL = """
with recursive number(n) as (select 1 union all select n + 1 from number where n < ?)
insert into otpy_job (kind, queue, state, args, run_at, priority, tenant, needs, max_errors, max_crashes, created_at,
    finished_at, meta, attempt, token, result)
select 'k', 'q', 'done', x'93019080', n, 0, '', '', 3, 3, n, n, x'', 1, 1, x'c0' from number
"""


@jobs.job
def noop() -> None:
    """Nothing."""


@jobs.job
def tell() -> None:
    """Note when it began."""
    TIMES.setdefault(jobs.current().id, []).append(time.perf_counter())


@jobs.job(retry=AT_ONCE)
def crash() -> None:
    """Take its agent along, the first time."""
    TIMES.setdefault(jobs.current().id, []).append(time.perf_counter())
    if jobs.current().attempt == 1:
        raise SystemExit


@contextmanager
def engine(path: Path, **options: Any) -> Iterator[jobs.Client]:  # Any: as the engine says
    """An engine on this file, and who enqueues."""
    system = otpy.System("bench")
    try:
        system.start(jobs.engine(path, [noop, tell, crash], **options))
        yield jobs.of(system)
    finally:
        system.stop(timeout=10.0)


def enqueue(job: Job) -> Figures:
    """For a time that does not come: nothing else is measured."""
    producers = int(job.sizes.get("producers", 1))
    with folder() as place, engine(place / "jobs.db") as client:
        spec = noop.new().opts(delay=FAR)

        def put(_: int) -> None:
            client.enqueue(spec)

        if producers == 1:
            return rate(job, lambda count: one_by_one(count, put))
        return rate(job, lambda count: in_threads(producers, count, put))


def fill(path: Path, count: int) -> None:
    """Jobs that are ready, in a store that no engine has."""
    with closing(SqliteStore(path)) as store, store.transaction() as tx:
        new = NewJob(kind=noop.name, queue="default", args=noop.new().args, run_at=0, max_errors=5, timeout_ms=30_000)
        tx.insert([new] * count)


def done(client: jobs.Client) -> int:
    """How many are kept as done."""
    return sum(look.numbers.get("done", 0) for look in client.queues())


def work(job: Job) -> Figures:
    count = job.size("jobs")
    with folder() as place:
        fill(place / "jobs.db", count)
        began = time.perf_counter()
        with engine(place / "jobs.db") as client:
            wait_for(lambda: done(client) == count)
            took = time.perf_counter() - began
    return Figures(values={"work": count / took})


def overhead(job: Job) -> Figures:
    count = job.size("jobs")
    with folder() as place, engine(place / "jobs.db") as client:
        specs = [noop.new() for _ in range(BATCH)]
        began = time.perf_counter()
        for _ in range(count // BATCH):
            client.enqueue_all(specs)
        wait_for(lambda: done(client) == count // BATCH * BATCH)
        took = time.perf_counter() - began
    return Figures(values={"overhead": took / count * 1e6})


def latency(job: Job) -> Figures:
    waits = []
    with folder() as place, engine(place / "jobs.db") as client:
        for _ in range(job.size("jobs")):
            time.sleep(0.02)  # until nobody has anything to do
            began = time.perf_counter()
            made = client.enqueue(tell.new())
            wait_for(lambda made=made: made.id in TIMES)  # type: ignore[misc]  # mypy cannot infer it
            waits.append(TIMES.pop(made.id)[0] - began)
    return Figures(values={"latency_p50_ms": percentile(waits, 50) * 1_000})


def rescue_down(job: Job) -> Figures:
    waits = []
    with folder() as place, engine(place / "jobs.db") as client:
        for _ in range(job.size("jobs")):
            made = client.enqueue(crash.new())
            wait_for(lambda made=made: len(TIMES.get(made.id, ())) > 1)  # type: ignore[misc]  # as above
            first, second = TIMES.pop(made.id)
            waits.append(second - first)
    return Figures(values={"rescue_down_ms": percentile(waits, 50) * 1_000})


def failover(job: Job) -> Figures:
    """On a file."""
    with folder() as place:
        path = place / "jobs.db"

        def epoch() -> int:
            with closing(sqlite3.connect(path)) as db:
                return int(db.execute("select coalesce(max(epoch), 0) from otpy_leader").fetchone()[0])

        led, begun = survived(path, job.sizes["lease"], epoch)
    return Figures(values={"failover_leases": led, "rescue_leases": begun})


def survived(path: Path | str, lease: float, epoch: Callable[[], int]) -> tuple[float, float]:
    """Two programs; the one that leads is killed while its job runs. Each says when it begins one.

    Returns:
        leases until the other one leads, and until the job runs there.
    """
    program = ("jobs_program", path, lease)
    with started(program) as (first,):
        first.ask("long")
        first.said("begun")  # by itself, for there is no other yet
        with started(program) as (second,):
            time.sleep(lease)
            before = epoch()
            killed = time.monotonic()
            first.kill()
            wait_for(lambda: epoch() > before)
            led = time.monotonic()
            begun = second.said("begun")
    return (led - killed) / lease, (begun - killed) / lease


def growth(job: Job) -> Figures:
    """Turn by turn on both stores, so that a slow moment of the machine hits both."""
    with folder() as place:
        stores = [_finished(place / f"{number}.db", number) for number in (1_000, job.size("finished"))]
        costs: list[list[float]] = [[], []]
        for _ in range(job.size("jobs") // BATCH // 10):
            for (store, fence), found in zip(stores, costs, strict=True):
                found.append(_cost(store, fence))
        for store, _ in stores:
            store.close()
    return Figures(values={"growth": median(costs[1]) / median(costs[0])})


def _finished(path: Path, number: int) -> tuple[SqliteStore, Fence]:
    store = SqliteStore(path, profile="fast")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(FILL, (number,))
        db.execute("pragma wal_checkpoint(truncate)")
    with store.transaction() as tx:
        return store, Fence(name="jobs", epoch=tx.elect("jobs", "us", 3_600_000) or 0)


def _cost(store: SqliteStore, fence: Fence) -> float:
    """CPU seconds of ten batches."""
    new = [NewJob(kind="k", queue="q", args=b"x" * 60, run_at=0)] * BATCH
    ask = Ask(queues=("q",), owners=("agent",) * BATCH, lease_ms=10_000)
    began = time.process_time()
    for _ in range(10):
        with store.transaction() as tx:
            tx.insert(new)
        with store.transaction() as tx:
            claimed = tx.claim([ask], fence) or []
        with store.transaction() as tx:
            tx.settle([Settled(id=one.id, token=one.token, state="done", result=b"\xc0") for one in claimed])
    return time.process_time() - began


@contextmanager
def guarded(function: Callable[[], object]) -> Iterator[Callable[[], object]]:
    """The function behind a breaker whose actor runs."""
    system = otpy.System("bench")
    breaker = Breaker("bench")
    try:
        system.start(breaker.child())
        yield breaker(function)
    finally:
        system.stop(timeout=10.0)


def nothing() -> None:
    """What is called."""


def nap() -> None:
    """A call that takes a millisecond."""
    time.sleep(0.001)


def breaker_1(job: Job) -> Figures:
    with guarded(nothing) as call:
        return rate(job, lambda count: one_by_one(count, lambda _: call()))


def breaker_16(job: Job) -> Figures:
    threads, calls = job.size("threads"), job.size("calls")
    with guarded(nap) as call:
        call()
        took = in_threads(threads, threads * calls, lambda _: call())
    return Figures(values={"breaker_16": threads * calls / took})


MEASURES: dict[str, Callable[[Job], Figures]] = {
    "enqueue_1": enqueue,
    "enqueue_16": enqueue,
    "work": work,
    "overhead": overhead,
    "latency": latency,
    "rescue_down": rescue_down,
    "failover": failover,
    "growth": growth,
    "breaker_1": breaker_1,
    "breaker_16": breaker_16,
}
