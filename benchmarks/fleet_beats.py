"""Heartbeats, of otpy and of what it stands beside: what a hub takes in, and what agents that only beat cost."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from typing import TYPE_CHECKING, Any

import otpy
from benchmarks.measure import idle_percent, memory, rate
from benchmarks.model import Figures
from otpy.fleet import FleetView, Heartbeat

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.model import Job
    from otpy.fleet import Beat

__all__ = ["bare_hub", "bare_idle", "hub", "idle"]

REGIONS = 20
PERIOD = 30.0
"""The default of a `Heartbeat`."""


def filled(job: Job, beat: Callable[[int, str, dict[str, str]], object]) -> Figures:
    """Have each agent beat once, and see what is kept of it; then beats, one agent after the other."""
    agents = job.size("agents")
    names = [f"agent-{number:06}" for number in range(agents)]
    labels = [{"region": f"r{number % REGIONS}", "version": str(number % 3)} for number in range(agents)]
    beat(0, "another", {"region": "r0"})
    before = memory()
    for number in range(agents):
        beat(1, names[number], labels[number])
    kept = (memory() - before) / agents
    sequence = 1

    def batch(count: int) -> float:
        nonlocal sequence
        began = time.perf_counter()
        for number in range(count):
            place = number % agents
            sequence += place == 0
            beat(sequence, names[place], labels[place])
        sequence += 1
        return time.perf_counter() - began

    found = rate(job, batch)
    return Figures(values={"hub_beats": found.values[job.experiment], "hub_agent_bytes": kept}, count=found.count)


def hub(job: Job) -> Figures:
    """With all that a `Heartbeat` says."""
    view = FleetView("bench")
    figures = {"outbox_rows": 3, "outbox_age": 1.5}
    system = otpy.System("bench")

    def beat(sequence: int, name: str, labels: dict[str, str]) -> None:
        view.beat(
            name, labels=labels, figures=figures, incarnation=name, sequence=sequence, period=PERIOD, at=1, started=1
        )

    try:
        system.start(view.child())
        return filled(job, beat)
    finally:
        system.stop(timeout=60.0)


def bare_hub(job: Job) -> Figures:
    """A dictionary with a lock: when each was heard, and its labels; nobody is ever missed."""
    lock, table = threading.Lock(), dict[str, tuple[float, dict[str, str], int]]()

    def beat(sequence: int, name: str, labels: dict[str, str]) -> None:
        with lock:
            table[name] = (time.monotonic(), labels, sequence)

    return filled(job, beat)


def idle(job: Job) -> Figures:
    """Agents with a heartbeat of the usual period each, in one program; what is sent goes nowhere."""

    def send(_: Beat) -> None: ...

    system = otpy.System("bench")
    try:
        for number in range(job.size("agents")):
            system.start(Heartbeat("beats", send=send).child().opts(id=f"agent-{number}"))
        return Figures(values={"idle_fleet_cpu_percent": idle_percent(job.sizes["idle"])})
    finally:
        system.stop(timeout=60.0)


def bare_idle(job: Job) -> Figures:
    """As many tasks of asyncio that sleep as long, and do nothing in between."""

    async def one() -> None:
        await asyncio.sleep(random.random() * PERIOD)
        for pause in iter(random.random, None):
            await asyncio.sleep(PERIOD * (0.5 + pause))

    async def all_of_them() -> float:
        tasks: list[asyncio.Task[Any]] = [asyncio.create_task(one()) for _ in range(job.size("agents"))]
        await asyncio.sleep(0)
        try:
            return await asyncio.to_thread(idle_percent, job.sizes["idle"])
        finally:
            for task in tasks:
                task.cancel()

    return Figures(values={"idle_fleet_cpu_percent": asyncio.run(all_of_them())})
