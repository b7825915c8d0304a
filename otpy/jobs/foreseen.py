"""What a rehearsal of a drain hears of jobs: which run, since when, and how long their like takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.core.text import visible
from otpy.drain.foresight import foresees
from otpy.jobs.addressee import Addressee
from otpy.jobs.scheduler.scheduler import Scheduler

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.control.snapshot import Inspected
    from otpy.core.rehearsal import Running
    from otpy.jobs.figures import Figures

__all__ = ["usual"]


@foresees
def jobs(program: Inspected) -> Iterator[Running]:
    """Each job that an agent of this program does, as its scheduler knows it; nobody is asked."""
    from otpy.core.rehearsal import Running  # noqa: PLC0415 - for programs that are asked

    for engine in Addressee.all(program):
        system = engine.system
        ref = system.names.get(f"{engine.name}/scheduler")
        scheduler = None if ref is None else ref.actor
        if not isinstance(scheduler, Scheduler):
            continue
        now = system.clock.now()
        for worker in scheduler.books.busy():
            job = worker.job
            if job is not None:  # it may have ended just now
                yield Running(
                    path=worker.ref.path,
                    what=f"job {job.id} of {visible(job.kind, 200)}",
                    since=max(0.0, now - worker.watch.begun_at),
                    usual=usual(scheduler.setup.figures, job.kind),
                )


def usual(figures: Figures, kind: str) -> float | None:
    """Seconds that attempts at jobs of a kind have taken on average; None where nobody has measured any."""
    measured = [runs for (_, name), runs in figures.runs.copy().items() if name == kind]
    number = sum(sum(runs.counts) for runs in measured)
    return sum(runs.total for runs in measured) / number if number else None
