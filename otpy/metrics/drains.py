"""What is counted of drains: how often, how long, who was late, and what became of the jobs that ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.core.histogram import Histogram
from otpy.events.draining import DrainBegun, DrainEnded, DrainPhase
from otpy.events.jobs import JobsDrained

if TYPE_CHECKING:
    from otpy.metrics.counting import Counting
    from otpy.metrics.reading import Sheet
    from otpy.runtime.system import System

__all__ = ["Drains"]

BOUNDS = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 300.0)
"""Seconds between which drains are told apart; a platform gives 30 unless told otherwise."""
PHASES = ("quiesce", "drain", "checkpoint", "flush", "release")
OUTCOMES = ("finished", "released", "checkpointed", "left")
KINDS = {
    "SIGTERM": "SIGTERM",
    "SIGINT": "SIGINT",
    "otpy drain": "drain",
    "otpy stop": "stop",
    "otpy roll": "roll",
    "the block": "block",
    "request_stop": "call",
}
"""How reasons begin, which are texts, and what they are counted as; all others are `other`."""


class Drains:
    """Of one system, the whole of it or a part; from when it is made until `close`."""

    def __init__(self, system: System, counting: Counting) -> None:
        """Begin."""
        self._counting = counting
        self._running: dict[str, None] = {}
        self._seconds = Histogram(BOUNDS)
        for phase in PHASES:
            counting.count("otpy_drain_deadline_exceeded_total", phase, by=0)
        for outcome in OUTCOMES:
            counting.count("otpy_drain_jobs_total", outcome, by=0)
        attach = system.events.attach
        self._detach = [
            attach(self._began, DrainBegun, brief=True),
            attach(self._phase, DrainPhase, brief=True),
            attach(self._ended, DrainEnded, brief=True),
            attach(self._jobs, JobsDrained, brief=True),
        ]

    def read(self, sheet: Sheet) -> None:
        """As they are now."""
        sheet.set("otpy_drain_in_progress", len(self._running))
        sheet.distribute("otpy_drain_seconds", self._seconds)

    def close(self) -> None:
        """Count nothing more."""
        for detach in self._detach:
            detach()

    def _began(self, event: DrainBegun) -> None:
        kind = next((kind for words, kind in KINDS.items() if event.reason.startswith(words)), "other")
        self._counting.count("otpy_drain_started_total", kind)
        self._running[event.path] = None

    def _phase(self, event: DrainPhase) -> None:
        if event.late:
            self._counting.count("otpy_drain_deadline_exceeded_total", event.phase)

    def _ended(self, event: DrainEnded) -> None:
        self._running.pop(event.path, None)
        self._seconds.observe(event.seconds)

    def _jobs(self, event: JobsDrained) -> None:
        numbers = (event.finished, event.released, event.checkpointed, len(event.left))
        for outcome, number in zip(OUTCOMES, numbers, strict=True):
            self._counting.count("otpy_drain_jobs_total", outcome, by=number)
