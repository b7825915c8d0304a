"""The table of fleets: what an outbox costs, and how a hub that comes back is met; against whom, and what to reach."""

from __future__ import annotations

from benchmarks.model import FLOOR, OTPY, Aim, Experiment, Row

EACH, ONE, DECORRELATED = "one_commit_each", "one_by_one", "decorrelated"


def outbox() -> list[Experiment]:
    """What it costs to put rows, and to have them forwarded."""
    put = Row(
        name="outbox_put_16",
        unit="rows/s",
        what="durable puts of 16 threads, profile full; one_commit_each: bare sqlite3, the same table, 16 threads that "
        "share a connection and commit each row; own_connections: each on one of its own; floor: one thread, 16 rows "
        "a commit",
        aims=(Aim(factor=10, against=EACH),),
    )
    drain = Row(
        name="outbox_drain",
        unit="rows/s",
        what="forwarding stored rows to a receiver that does nothing, each acknowledged on the disk; one_by_one: bare "
        "sqlite3, each row read, sent and deleted by itself",
        aims=(Aim(factor=5, against=ONE),),
    )
    return [
        Experiment(
            name="outbox_put_16",
            rows=(put,),
            sides=(OTPY, EACH, FLOOR),
            rounds=(5, 2),
            full={"producers": 16},
            per_side={FLOOR: {"together": 16}},
        ),
        Experiment(
            name="outbox_drain",
            rows=(drain,),
            sides=(OTPY, ONE),
            rounds=(5, 2),
            full={"rows": 100_000},
            quick={"rows": 20_000},
            per_side={ONE: {"rows": 2_000}},
            per_side_quick={ONE: {"rows": 300}},
        ),
    ]


def reconnection() -> Experiment:
    """How the clients of a hub that was down come back to it."""
    calls = Row(
        name="reconnect_calls",
        unit="calls",
        what="calls by 500 clients, all at once at first, until a hub of 50/s has served each, simulated; otpy: "
        "the pauses of an outbox and the hub's Turns; agents_alone: without those; the others: base 0.5 s, cap 20 s",
        better="less",
        aims=(Aim(factor=1.3, against=DECORRELATED),),
    )
    peak = Row(
        name="reconnect_peak",
        unit="times",
        what="the most calls in a tenth of a second of it, after the first in which all come, ÷ the hub's rate",
        better="less",
        aims=(Aim(factor=1.5),),
    )
    sizes: dict[str, int | float] = {"clients": 500, "rate": 50}
    return Experiment(name="reconnect", rows=(calls, peak), sides=(OTPY, DECORRELATED), rounds=(5, 3), full=sizes)


FLEET = [*outbox(), reconnection()]
