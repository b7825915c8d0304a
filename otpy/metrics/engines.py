"""What is read of engines of jobs: their figures at once, and what is in their stores within a time."""

from __future__ import annotations

from contextlib import suppress
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, get_args

from otpy.errors import OtpyError
from otpy.jobs.client import Client
from otpy.jobs.figures import Word
from otpy.jobs.looking import engine_at
from otpy.jobs.model.job import State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otpy.jobs.figures import Figures
    from otpy.jobs.model.look import QueueLook
    from otpy.metrics.reading import Sheet
    from otpy.runtime.system import System

__all__ = ["Engines"]

SHOWN: tuple[State, ...] = tuple(state for state in get_args(State) if state not in ("done", "cancelled", "replayed"))
"""States of jobs that somebody waits for, or has to look at."""


class Engines:
    """Of one system; it remembers who has not answered yet, so that no second one waits for a store that hangs."""

    def __init__(self, system: System, seconds: float, failed: Callable[[str], object]) -> None:
        """Real seconds that all stores together may take; `failed` is told that one took longer, or said no."""
        self._system, self._seconds, self._failed = system, seconds, failed
        self._looks: dict[str, _Look] = {}

    def begin(self) -> None:
        """Have those count that run already; others see, when they begin, that somebody measures."""
        for engine in self._running().values():
            engine.setup.measure()

    def read(self, sheet: Sheet) -> None:
        """Those of all engines that run, as the catalogue says."""
        engines = self._running()
        self._looks = looks = {name: self._look(name) for name in engines}  # of those that have ended none is kept
        for name, engine in engines.items():
            with suppress(OtpyError):  # it has just ended
                self._published(name, sheet)
            _figures(name, engine.setup.figures, sheet)
            sheet.set("otpy_stale_writes_total", engine.health.stale, name)
            sheet.set("otpy_store_failures_total", 0, name)
            sheet.set("otpy_scrape_failures_total", 0, _queues_of(name))
        over = monotonic() + self._seconds
        for name, engine in engines.items():
            found = looks[name].answer(max(0.0, over - monotonic()))
            if found is None:
                self._failed(_queues_of(name))
            else:
                _queues(name, found, engine.setup.now(), sheet)

    def _look(self, name: str) -> _Look:
        """A new one, unless one goes on."""
        before = self._looks.get(name)
        return before if before is not None and before.is_alive() else _Look(Client(self._system, name, self._seconds))

    def _running(self) -> dict[str, Any]:  # Any: as `engine_at`
        names = [name.removesuffix("/engine") for name in self._system.names.copy() if name.endswith("/engine")]
        return {name: engine for name in sorted(names) if (engine := engine_at(self._system, name)) is not None}

    def _published(self, name: str, sheet: Sheet) -> None:
        client = Client(self._system, name)
        sheet.set("otpy_store_ready", client.readiness().is_ready, name)
        for crew in client.crews():
            sheet.set("otpy_autoscale_desired", crew.desired, name, crew.name)
            sheet.set("otpy_autoscale_actual", crew.ready, name, crew.name)


class _Look(Thread):
    """A look at an engine's queues, on a thread of its own: a server that hangs keeps nobody else."""

    def __init__(self, client: Client) -> None:
        """Begin at once."""
        super().__init__(name=f"otpy-metrics-{client!r}", daemon=True)
        self._client = client
        self._found: list[QueueLook] | None = None
        self.start()

    def run(self) -> None:
        """Ask; an outage is told as one that has not answered."""
        with suppress(OtpyError):
            self._found = self._client.queues()

    def answer(self, seconds: float) -> list[QueueLook] | None:
        """What was found by then; None for nothing."""
        self.join(seconds)
        return self._found


def _queues_of(name: str) -> str:
    """What a part of a scrape is called."""
    return f"queues of {name}"


def _figures(name: str, figures: Figures, sheet: Sheet) -> None:
    for word, numbers in _by_word(figures):
        sheet.set_all(f"otpy_jobs_{word}_total", {(name, *pair): number for pair, number in numbers.items()})
    for metric, of in (("otpy_job_wait_seconds", figures.waits), ("otpy_job_run_seconds", figures.runs)):
        for pair, histogram in of.copy().items():
            sheet.distribute(metric, histogram, name, *pair)
    for what, histogram in figures.store.items():
        sheet.distribute(f"otpy_store_{what}_seconds", histogram, name)
    sheet.set("otpy_store_busy_total", figures.busy, name)
    sheet.set("otpy_lease_renew_failures_total", figures.renew_failures, name)
    sheet.set("otpy_leases_lost_total", figures.leases_lost, name)


def _by_word(figures: Figures) -> Iterator[tuple[str, dict[tuple[str, str], int]]]:
    """All pairs, for each of them: an alarm sees an increase only where nothing was told before it."""
    pairs = figures.pairs.copy()
    found: dict[str, dict[tuple[str, str], int]] = {word: dict.fromkeys(pairs, 0) for word in get_args(Word)}
    for (word, *pair), number in figures.numbers.copy().items():
        found[word][pair[0], pair[1]] = number
    yield from found.items()


def _queues(name: str, queues: list[QueueLook], now: int, sheet: Sheet) -> None:
    for queue in queues:
        for state in SHOWN:
            sheet.set("otpy_queue_depth", queue.numbers.get(state, 0), name, queue.name, state)
        age = 0.0 if queue.oldest is None else max(0.0, (now - queue.oldest) / 1_000)
        sheet.set("otpy_oldest_ready_age_seconds", age, name, queue.name)
