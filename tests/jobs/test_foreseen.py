"""What a rehearsal of a drain hears of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import otpy
from otpy import jobs
from otpy.drain.rehearsal import rehearsal_of
from otpy.jobs.figures import Figures
from otpy.jobs.foreseen import usual
from otpy.testing import Gate

from .rows import row

if TYPE_CHECKING:
    from pathlib import Path

    from otpy.testing import VirtualClock


def test_a_job_that_runs_is_judged_by_how_long_its_like_takes(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path, quiet: None
) -> None:
    with Gate() as gate:

        def paint() -> None:
            gate.wait()

        kind: Any = jobs.job(timeout=None)(paint)
        engine = jobs.engine(tmp_path / "jobs.db", [kind])
        timed.start(engine)
        timed.wait_idle()
        client = jobs.of(timed)
        made = client.enqueue(kind.new())
        gate.reached()
        clock.advance(20.0)
        (late,) = [one for one in rehearsal_of(timed, within=25.0).late if one.level == "late"]
        assert late.text.startswith(
            f"job {made.id} of {kind.name} has been running for 20 s, and nobody knows how long its like takes: as long"
        )
        assert late.by == 5.0
        figures = timed.names["jobs/scheduler"].actor.setup.figures
        figures.is_on = True
        figures.begin([("default", kind.name)])
        figures.ended(client.get(made.id), 32.0)
        assert rehearsal_of(timed, within=25.0).waits_for == 12.0
        gate.open()
        timed.wait_idle()


def test_what_is_usual_is_the_mean_of_all_queues() -> None:
    figures = Figures()
    figures.begin([("default", "paint"), ("night", "paint"), ("default", "mail")])
    assert usual(figures, "paint") is None
    figures.ended(row(queue="default", kind="paint"), 10.0)
    figures.ended(row(queue="night", kind="paint"), 40.0)
    figures.ended(row(queue="night", kind="paint"), 40.0)
    figures.ended(row(queue="default", kind="mail"), 1.0)
    assert usual(figures, "paint") == 30.0
