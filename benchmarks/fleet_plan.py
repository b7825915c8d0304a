"""The table of fleets: outboxes, hubs that come back, heartbeats; against whom, and what to reach."""

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


def beats() -> list[Experiment]:
    """What it costs to see a fleet, and to be seen."""
    taken = Row(
        name="hub_beats",
        unit="beats/s",
        what="heartbeats that one FleetView takes from 100 000 agents, in one thread; floor: a dictionary with a lock, "
        "which keeps when each was heard",
    )
    kept = Row(
        name="hub_agent_bytes",
        unit="bytes",
        what="RSS for each agent in it, without its name and labels; floor: as above",
        better="less",
    )
    cost = Row(
        name="idle_fleet_cpu_percent",
        unit="% of a core",
        what="1 000 agents in one program that do nothing but beat, each 30 s; floor: as many tasks of asyncio that "
        "sleep as long",
        better="less",
        aims=(Aim(factor=2),),
    )
    return [
        Experiment(
            name="hub_beats",
            rows=(taken, kept),
            sides=(OTPY, FLOOR),
            fresh=True,
            rounds=(5, 2),
            full={"agents": 100_000},
            quick={"agents": 20_000},
        ),
        Experiment(
            name="idle_fleet",
            rows=(cost,),
            sides=(OTPY, FLOOR),
            fresh=True,
            rounds=(3, 1),
            full={"agents": 1_000, "idle": 20.0},
            quick={"idle": 4.0},
        ),
    ]


def drains() -> Experiment:
    """What it takes to leave in order when there is nothing to do."""
    row = Row(
        name="drain_100_idle_s",
        unit="s",
        what="draining and stopping a program of 100 idle agents, each with handle_drain and one open resource; floor: "
        "100 threads that wait for an event in a with block, told at once and joined one by one",
        better="less",
        aims=(Aim(factor=1),),
    )
    return Experiment(name="drain_100_idle", rows=(row,), sides=(OTPY, FLOOR), rounds=(5, 3), full={"agents": 100})


FLEET = [*outbox(), reconnection(), *beats(), drains()]
