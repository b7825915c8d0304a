"""What a program's readiness says of its engines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from otpy import jobs
from otpy.health import HealthLine, readiness
from otpy.jobs.engine import Engine

if TYPE_CHECKING:
    from pathlib import Path

    import otpy


@jobs.job
def note() -> None:
    """Is done at once."""


def line(system: otpy.System, name: str) -> HealthLine:
    return next(line for line in readiness(system).lines if line.name == name)


@pytest.mark.report("J14", "celery/celery#8030")
def test_an_engine_that_takes_in_no_jobs_makes_its_program_unready(timed: otpy.System, tmp_path: Path) -> None:
    """Each is told by its name; whether the process is alive says nothing of it."""
    system = timed  # no look at the store comes between, which would find that all is well
    for name in ("jobs", "mail"):
        system.start(jobs.engine(tmp_path / f"{name}.db", [note], name=name))
    system.wait_idle()
    assert [line(system, name) for name in ("jobs", "mail")] == [HealthLine(name="jobs"), HealthLine(name="mail")]

    [engine] = [ref.actor for name, ref in system.names.items() if name == "mail/engine"]
    assert isinstance(engine, Engine)
    engine.health.failed(jobs.StoreError("mail.db", "disk full"), system.clock.now())

    assert line(system, "jobs").problem is None
    assert "it takes in no jobs, for 0 s now" in str(line(system, "mail").problem)
    assert "nothing is kept: disk full" in str(line(system, "mail").problem)
