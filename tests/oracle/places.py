"""Where the workers of a scenario run: one class for each place, made of the same definition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .actors import AsyncWorker, ThreadWorker, Worker
from .families import FAMILIES
from .otpy_side import play_for_real, play_seeded

if TYPE_CHECKING:
    from collections.abc import Callable

    from .families import Family
    from .model import Report, Scenario

__all__ = ["PLACES", "POOL", "Place"]


@dataclass(frozen=True)
class Place:
    """A place, and how scenarios are played there."""

    worker: type[Worker]
    play: Callable[[Scenario, type[Worker]], list[Report]] = play_seeded
    families: tuple[Family, ...] = FAMILIES


POOL = Place(Worker)
PLACES = {"pool": POOL, "loop": Place(AsyncWorker), "thread": Place(ThreadWorker, play_for_real)}
