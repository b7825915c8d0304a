"""A hub on a virtual clock, whose agents beat each ten seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from otpy.fleet import FleetView
from otpy.testing import VirtualSystem

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def view() -> FleetView:
    return FleetView("fleet", period=10.0)


@pytest.fixture
def system(view: FleetView) -> Iterator[VirtualSystem]:
    started = VirtualSystem("hub", seed=1)
    started.start(view.child())
    yield started
    started.stop()
