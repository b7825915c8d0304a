"""A system for each test, at rest and empty when it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import otpy
from support.systems import clock, events, quiet, system, timed

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["clock", "events", "farm", "quiet", "system", "timed"]


@pytest.fixture(scope="module")
def warm_system() -> Iterator[otpy.System]:
    """A system whose helper for processes runs: it imports all of otpy, which takes most of a test's time."""
    made = otpy.System("t")
    made.start(otpy.child(len, "").opts(place="process", start_timeout=60.0)).monitor().wait()
    yield made
    assert made.stop(timeout=5.0) == []


@pytest.fixture
def farm(quiet: None, warm_system: otpy.System) -> Iterator[otpy.System]:
    """That system, empty again when the test ends."""
    yield warm_system
    for ref in reversed(list(warm_system.tops.values())):
        ref.stop()
    warm_system.wait_idle()
    assert warm_system.alive == 0
