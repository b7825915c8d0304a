"""What a program's readiness says of its engines of jobs: whether each takes in jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from otpy.core.text import visible
from otpy.health.look import HealthLine
from otpy.health.parts import tells_readiness
from otpy.jobs.addressee import Addressee

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.control.snapshot import Inspected
    from otpy.runtime.system import System

__all__ = ["engines"]


@tells_readiness
def engines(system: System) -> Iterator[HealthLine]:
    """One line for each engine, under its name; asks none."""
    for engine in Addressee.all(cast("Inspected", system)):
        ready = engine.client.readiness()
        since = "" if ready.since is None else f", for {ready.since:.0f} s now"
        text = None if ready.problem is None else f"it takes in no jobs{since}: {visible(ready.problem, 500)}"
        yield HealthLine(name=engine.name, problem=text)
