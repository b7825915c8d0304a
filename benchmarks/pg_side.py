"""otpy's side of jobs on PostgreSQL: engines on databases of their own, in this program or in others."""

from __future__ import annotations

import time
from contextlib import closing, contextmanager
from itertools import count as counting
from typing import TYPE_CHECKING

import otpy
from benchmarks.databases import BATCH, CONCURRENCY, counter, database
from benchmarks.jobs_program import IDLE
from benchmarks.jobs_program import noop as nothing
from benchmarks.jobs_side import done, survived
from benchmarks.measure import rate, wait_for
from benchmarks.model import Figures
from benchmarks.otpy_side import VERSION
from benchmarks.programs import latency, started
from benchmarks.stores import one_by_one
from otpy import jobs
from otpy.jobs.spec import new_job
from otpy.jobs.store.postgres import PostgresStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.model import Job

__all__ = ["MEASURES", "VERSION"]

CREW = jobs.Crew(name="pool", size=CONCURRENCY)
LEASE = 15.0
DONE = "select coalesce(sum(number), 0) from otpy_tally where state = 'done'"
EPOCH = "select coalesce(max(epoch), 0) from otpy_term"
RUN = counting(1)
"""Jobs that have been run by this process."""
LAST = [0]
"""The number of the last one."""


@jobs.job
def noop() -> None:
    """Be counted, so that nobody need look into the store while others work."""
    LAST[0] = next(RUN)


@contextmanager
def engine(crew: jobs.Crew) -> Iterator[jobs.Client]:
    """One on a database of its own, and who enqueues."""
    with database() as url:
        system = otpy.System("bench")
        try:
            system.start(jobs.engine(url, [noop], crews=[crew]))
            yield jobs.of(system)
        finally:
            system.stop(timeout=10.0)


def enqueue(job: Job) -> Figures:
    """Ready at once; whoever works here works off another queue."""
    specs = [noop.new() for _ in range(BATCH)]
    with engine(IDLE) as client:
        return rate(job, lambda count: one_by_one(-(-count // BATCH), lambda _: client.enqueue_all(specs)))


def work(job: Job) -> Figures:
    """From the first enqueue until all are kept as done."""
    specs = [noop.new() for _ in range(BATCH)]
    with engine(CREW) as client:
        client.enqueue_all(specs)
        wait_for(lambda: done(client) == BATCH)  # it leads, and its agents are there
        ran, count = LAST[0], job.size("jobs")
        began = time.perf_counter()
        for _ in range(count // BATCH):
            client.enqueue_all(specs)
        wait_for(lambda: LAST[0] == ran + count)
        wait_for(lambda: done(client) == BATCH + count)
        took = time.perf_counter() - began
    return Figures(values={"pg_work": count / took})


def waits(job: Job) -> Figures:
    with database() as url:
        p50 = latency(job, ("jobs_program", url, LEASE), ("jobs_program", url, LEASE, "enqueue"))
    return Figures(values={"pg_latency_p50_ms": p50})


def failover(job: Job) -> Figures:
    with database() as url, counter(url, EPOCH) as epoch:
        led, begun = survived(url, job.sizes["lease"], epoch)
    return Figures(values={"pg_failover_leases": led, "pg_rescue_leases": begun})


def hosts(job: Job) -> Figures:
    """So many programs, and one; what is to be done comes to them in one commit."""
    one, many = (_worked_off(number, job.size("jobs")) for number in (1, job.size("programs")))
    return Figures(values={"pg_hosts": many, "pg_hosts@one program": one})


def _worked_off(programs: int, count: int) -> float:
    """Jobs a second."""
    with (
        database() as url,
        started(*[("jobs_program", url, LEASE)] * programs),
        counter(url, DONE) as kept,
        closing(PostgresStore(url)) as store,
    ):
        began = time.perf_counter()
        with store.transaction() as tx:
            tx.insert([new_job(nothing.new(), tx.now)] * count)
        wait_for(lambda: kept() == count)
        return count / (time.perf_counter() - began)


MEASURES: dict[str, Callable[[Job], Figures]] = {
    "pg_enqueue_bulk": enqueue,
    "pg_work": work,
    "pg_latency": waits,
    "pg_failover": failover,
    "pg_hosts": hosts,
}
