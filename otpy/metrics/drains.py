"""What is counted of drains: how often, how long, who was late, and what became of the jobs that ran."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from otpy.core.histogram import Histogram
from otpy.events.draining import DrainBegun, DrainEnded, DrainPhase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from otpy.jobs.figures import Figures
    from otpy.metrics.counting import Counting
    from otpy.metrics.reading import Sheet
    from otpy.runtime.system import System

__all__ = ["Drains"]

BOUNDS = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 300.0)
"""Seconds between which drains are told apart; a platform gives 30 unless told otherwise."""
PHASES = ("quiesce", "drain", "checkpoint", "flush", "release")
OUTCOMES = ("finished", "released", "left")
KINDS = {
    "SIGTERM": "SIGTERM",
    "SIGINT": "SIGINT",
    "otpy drain": "drain",
    "otpy stop": "stop",
    "otpy roll": "roll",
    "the block": "block",
}
"""How reasons begin, which are texts, and what they are counted as; all others are `other`."""


class Drains:
    """Of one system, the whole of it or a part; from when it is made until `close`."""

    def __init__(self, system: System, counting: Counting, figures: Callable[[], Iterable[Figures]]) -> None:
        """Begin; `figures` are those of the engines that run."""
        self._system, self._counting, self._figures = system, counting, figures
        self._lock = Lock()  # guards what follows
        self._running: dict[str, list[tuple[Figures, dict[str, int]]]] = {}
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
        before = [(one, _outcomes(one)) for one in self._figures()] if event.path == self._system.name else []
        with self._lock:
            self._running[event.path] = before

    def _phase(self, event: DrainPhase) -> None:
        if event.late:
            self._counting.count("otpy_drain_deadline_exceeded_total", event.phase)

    def _ended(self, event: DrainEnded) -> None:
        with self._lock:
            engines = self._running.pop(event.path, [])
        self._seconds.observe(event.seconds)
        for figures, before in engines:
            after = _outcomes(figures)
            for outcome in OUTCOMES:
                had = 0 if outcome == "left" else before[outcome]
                self._counting.count("otpy_drain_jobs_total", outcome, by=max(0, after[outcome] - had))


def _outcomes(figures: Figures) -> dict[str, int]:
    """What has become of attempts: finished, whatever came of it; given back; or begun, and not ended."""
    numbers = figures.numbers.copy()
    begun, released = (
        sum(n for (word, _, _), n in numbers.items() if word == want) for want in ("started", "released")
    )
    ended = sum(sum(one.counts) for one in list(figures.runs.values()))
    return {"finished": ended - released, "released": released, "left": max(0, begun - ended)}
