"""Drains are played on a clock that the test moves, and process children begin cheaply."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import otpy
from support.helpers import forked_helpers
from support.systems import clock, quiet, system, timed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.events import Event
    from otpy.testing import VirtualClock

__all__ = ["clock", "forked_helpers", "quiet", "system", "timed"]


@pytest.fixture
def shop(clock: VirtualClock) -> Iterator[otpy.System]:
    """A system on it."""
    system = otpy.System("shop", clock=clock)
    yield system
    system.stop(timeout=30.0)


@pytest.fixture
def told(shop: otpy.System) -> list[Event]:
    """What is told of drains."""
    events: list[Event] = []
    shop.events.attach(lambda event: events.append(event) if type(event).__name__.startswith("Drain") else None)
    return events
