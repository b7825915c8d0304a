"""What runs is counted, and what runs no longer is forgotten."""

from __future__ import annotations

from otpy.jobs.scheduler.load import Load
from otpy.jobs.setup import Queue

from .rows import row


def test_tenants_that_have_gone_leave_nothing_behind() -> None:
    """Before, each wish took along a nought for every tenant that there had ever been."""
    load = Load({name: Queue(name) for name in ("q0", "q1")}, {})
    jobs = [row(id=number, queue=f"q{number % 2}", tenant=f"t{number}") for number in range(4)]
    for job in jobs:
        load.add(job)
    load.remove(jobs[0])
    assert (load.tenants("q0"), load.tenants("q1")) == ({"t2": 1}, {"t1": 1, "t3": 1})
    for job in jobs[1:]:
        load.remove(job)
    assert (load._tenants, load._running, load._kinds) == ({}, {}, {})
