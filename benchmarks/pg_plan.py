"""The table of jobs on PostgreSQL: what is measured, against whom, and what otpy has to reach."""

from __future__ import annotations

from benchmarks.model import FLOOR, OTPY, Aim, Experiment, Row

PROCRASTINATE, OBAN = "procrastinate", "oban"
PEERS = (OTPY, PROCRASTINATE, OBAN)


def throughput() -> list[Experiment]:
    """What jobs cost that many programs may share."""
    bulk = Row(
        name="pg_enqueue_bulk",
        unit="jobs/s",
        what="durable enqueues by each side's own way to enqueue many, 100 a call, ready at once, while nobody works; "
        "floor: bare psycopg, a statement and a commit for 100",
        aims=(Aim(factor=2, against=PROCRASTINATE),),
    )
    work = Row(
        name="pg_work",
        unit="jobs/s",
        what="no-op jobs, ten at once, from the first enqueue (100 a call) until all are kept as done; floor: bare "
        "psycopg on one connection, claims and acknowledgements of 50 alone, enqueued before",
        aims=(Aim(factor=6, against=PROCRASTINATE), Aim(factor=2.5, against=OBAN), Aim(factor=0.3, against=FLOOR)),
    )
    return [
        Experiment(name="pg_enqueue_bulk", rows=(bulk,), sides=(*PEERS, FLOOR), rounds=(5, 1)),
        Experiment(
            name="pg_work",
            rows=(work,),
            sides=(*PEERS, FLOOR),
            rounds=(5, 1),
            full={"jobs": 10_000},
            quick={"jobs": 2_000},
            per_side={PROCRASTINATE: {"jobs": 2_000}, OBAN: {"jobs": 5_000}},
            per_side_quick={PROCRASTINATE: {"jobs": 300}, OBAN: {"jobs": 500}},
        ),
    ]


def start() -> Experiment:
    """How long a job waits for its start."""
    row = Row(
        name="pg_latency_p50_ms",
        unit="ms",
        what="from just before one program enqueues a job until another one, which is idle, begins it; median",
        better="less",
        aims=(Aim(factor=10),),
    )
    return Experiment(
        name="pg_latency",
        rows=(row,),
        sides=PEERS,
        fresh=True,
        rounds=(3, 1),
        full={"jobs": 100},
        quick={"jobs": 20},
    )


def succession() -> Experiment:
    """How long everybody waits for the next leader, and a job for its rescue."""
    failover = Row(
        name="pg_failover_leases",
        unit="leases",
        what="the leader's program is killed, and the next leader has written",
        better="less",
        aims=(Aim(factor=1.2),),
    )
    rescue = Row(
        name="pg_rescue_leases",
        unit="leases",
        what="the same, until the job that ran in it is begun in the other",
        better="less",
    )
    return Experiment(
        name="pg_failover",
        rows=(failover, rescue),
        sides=(OTPY,),
        fresh=True,
        rounds=(5, 1),
        full={"lease": 2.0},
        quick={"lease": 1.0},
    )


def hosts() -> Experiment:
    """What it helps that every program works."""
    row = Row(
        name="pg_hosts",
        unit="jobs/s",
        what="three programs on one database work off no-op jobs that come in one commit, four at once in each; beside "
        "them one program. On two cores the three share them with the server",
    )
    return Experiment(
        name="pg_hosts",
        rows=(row,),
        sides=(OTPY,),
        fresh=True,
        rounds=(3, 1),
        full={"jobs": 10_000, "programs": 3},
        quick={"jobs": 1_000},
    )


PG_JOBS = [*throughput(), start(), succession(), hosts()]
