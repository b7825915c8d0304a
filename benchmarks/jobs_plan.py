"""The table of jobs: what is measured, at which sizes, against whom, and what otpy has to reach."""

from __future__ import annotations

from benchmarks.model import FLOOR, OTPY, Aim, Experiment, Row

HUEY, LITEQUEUE, PYBREAKER = "huey", "litequeue", "pybreaker"
QUEUES = (OTPY, HUEY, LITEQUEUE)


def throughput() -> list[Experiment]:
    """What a durable job costs."""
    one = Row(
        name="enqueue_1",
        unit="jobs/s",
        what="durable enqueues of one producer, profile full; litequeue: synchronous=NORMAL; floor: bare sqlite3, a "
        "commit for each row",
        aims=(Aim(factor=1, against=HUEY),),
    )
    many = Row(
        name="enqueue_16",
        unit="jobs/s",
        what="the same from 16 threads; floor: bare sqlite3 in one thread, 16 rows a commit",
        aims=(Aim(factor=10, against=HUEY),),
    )
    work = Row(
        name="work",
        unit="jobs/s",
        what="claim, run a no-op, complete, on four supervised agents, profile full, counted when that is kept; "
        "peers: their own dequeue and done in one thread, no consumer around it",
        aims=(Aim(factor=4, against=HUEY),),
    )
    overhead = Row(
        name="overhead",
        unit="µs",
        what="what a no-op costs as a supervised job, enqueued in batches and run; floor: as a plain call",
        better="less",
    )
    sizes: dict[str, int | float] = {"jobs": 10_000}
    few: dict[str, int | float] = {"jobs": 1_000}
    return [
        Experiment(name="enqueue_1", rows=(one,), sides=(*QUEUES, FLOOR), rounds=(5, 1)),
        Experiment(name="enqueue_16", rows=(many,), sides=(*QUEUES, FLOOR), rounds=(5, 1), full={"producers": 16}),
        Experiment(name="work", rows=(work,), sides=QUEUES, rounds=(5, 1), full=sizes, quick=few),
        Experiment(name="overhead", rows=(overhead,), sides=(OTPY, FLOOR), rounds=(3, 1), full=sizes, quick=few),
    ]


def waits() -> list[Experiment]:
    """How long somebody waits: for a start, for a rescue, for the next leader."""
    latency = Row(
        name="latency_p50_ms",
        unit="ms",
        what="idle enqueue to start, median",
        better="less",
        aims=(Aim(factor=3),),
    )
    down = Row(
        name="rescue_down_ms",
        unit="ms",
        what="an agent crashes, and its job runs on another, median; ten a round, for more are restarted with pauses",
        better="less",
        aims=(Aim(factor=10),),
    )
    rescue = Row(
        name="rescue_leases",
        unit="leases",
        what="a program is killed, and its job runs in the other",
        better="less",
        aims=(Aim(factor=1.6),),
    )
    failover = Row(
        name="failover_leases",
        unit="leases",
        what="the leader's program is killed, and the next leader has written",
        better="less",
        aims=(Aim(factor=1.2),),
    )
    return [
        Experiment(
            name="latency", rows=(latency,), sides=(OTPY,), rounds=(3, 1), full={"jobs": 200}, quick={"jobs": 50}
        ),
        Experiment(name="rescue_down", rows=(down,), sides=(OTPY,), rounds=(5, 1), full={"jobs": 10}),
        Experiment(
            name="failover",
            rows=(rescue, failover),
            sides=(OTPY,),
            fresh=True,
            rounds=(5, 1),
            full={"lease": 2.0},
            quick={"lease": 1.0},
        ),
    ]


def growth() -> Experiment:
    """Whether a store that is full of finished jobs is slower."""
    row = Row(
        name="growth",
        unit="times",
        what="CPU for enqueue, claim and completion of a job beside many finished ones ÷ beside a thousand",
        better="less",
        aims=(Aim(factor=1.2),),
    )
    full: dict[str, int | float] = {"finished": 1_000_000, "jobs": 10_000}
    quick: dict[str, int | float] = {"finished": 100_000, "jobs": 5_000}
    return Experiment(name="growth", rows=(row,), sides=(OTPY,), rounds=(2, 1), full=full, quick=quick)


def breakers() -> list[Experiment]:
    """What a circuit breaker costs a call."""
    one = Row(
        name="breaker_1",
        unit="calls/s",
        what="calls of a no-op through a closed breaker: allow and report",
        aims=(Aim(factor=0.5, against=PYBREAKER),),
    )
    many = Row(
        name="breaker_16",
        unit="calls/s",
        what="the same from 16 threads, of a call that takes 1 ms",
        aims=(Aim(factor=5, against=PYBREAKER),),
    )
    return [
        Experiment(name="breaker_1", rows=(one,), sides=(OTPY, PYBREAKER), rounds=(5, 1)),
        Experiment(
            name="breaker_16", rows=(many,), sides=(OTPY, PYBREAKER), rounds=(5, 1), full={"threads": 16, "calls": 100}
        ),
    ]


JOBS = [*throughput(), *waits(), growth(), *breakers()]
