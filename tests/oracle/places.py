"""Where the workers of a scenario run: one class for each place, made of the same definition."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import otpy
from otpy.runtime.timers import MonotonicClock
from otpy.testing import VirtualClock, explore

from .actors import AsyncWorker, ThreadWorker, Worker
from .families import FAMILIES, GROUPS, KILLS, LIMITS, LINKS
from .far import ProcessWorker
from .far_player import FarPlayer
from .otpy_side import PatientPlayer, Player

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from otpy.core.clock import Clock

    from .families import Family
    from .model import Report, Scenario

    Play = Callable[[Scenario], list[Report]]

__all__ = ["PLACES", "POOL", "Place"]


@contextmanager
def seeded(place: Place) -> Iterator[Play]:
    """Each scenario in a system of its own. Nothing may be left behind: `explore` sees to that."""

    def play(scenario: Scenario) -> list[Report]:
        reports: list[Report] = []
        explore(lambda system: reports.extend(_play(system, scenario, place)), [scenario.seed])
        return reports

    yield play


@contextmanager
def real(place: Place) -> Iterator[Play]:
    """All in one system, on threads as they are, so that the order of turns is chance."""
    system = otpy.System("real", clock=place.clock())

    def play(scenario: Scenario) -> list[Report]:
        reports = _play(system, scenario, place)
        left = [record.path for record in system.records()] + [str(zombie) for zombie in system.zombies()]
        assert left == []
        return reports

    try:
        yield play
    finally:
        system.stop()


def _play(system: otpy.System, scenario: Scenario, place: Place) -> list[Report]:
    """What each step gave, the start of the tree first."""
    player = place.player(system, place.worker)
    try:
        return [player.step(step) for step in [["start", scenario.tree], *scenario.steps]]
    finally:
        player.clean_up()


@dataclass(frozen=True)
class Place:
    """A place, and how scenarios are played there."""

    worker: type[Worker]
    house: Callable[[Place], AbstractContextManager[Play]] = seeded
    player: type[Player] = Player
    families: tuple[Family, ...] = FAMILIES
    is_certain: bool = True
    """Whether a scenario is played in the same way each time."""
    clock: Callable[[], Clock] = MonotonicClock
    """Makes the one of what plays on real threads."""

    def open(self) -> AbstractContextManager[Play]:
        """What plays scenarios, as long as the context lasts."""
        return self.house(self)


HELPLESS = replace(LINKS, verbs=tuple(verb for verb in LINKS.verbs if verb != "spawn_link"))
FAR = (replace(LIMITS, stops=GROUPS.stops), GROUPS, HELPLESS, KILLS)
"""No gates: nobody could tell whether one who waits there is all that its supervisor waits for. Nobody hangs: what ends
at once in OTP may take longer than those 20 ms. No helpers: one that runs inside a process does not outlive it."""

POOL = Place(Worker)
PLACES = {
    "pool": POOL,
    "loop": Place(AsyncWorker),
    "thread": Place(ThreadWorker, real, PatientPlayer, clock=VirtualClock, is_certain=False),
    "process": Place(ProcessWorker, real, FarPlayer, FAR, is_certain=False),
}
