"""A system for each test, at rest and empty when it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.places.process.ports import ports_of
from support.systems import clock, events, quiet, system, timed

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["clock", "events", "farm", "quiet", "system", "timed"]


@pytest.fixture(scope="package")
def warm_system() -> Iterator[otpy.System]:
    """One system for all files: its helper for processes imports all of otpy, which costs as much as twenty forks."""
    made = otpy.System("t")
    made.start(otpy.child(len, "").opts(place="process", start_timeout=60.0)).monitor().wait()
    yield made
    assert made.stop(timeout=30.0) == []


@pytest.fixture(scope="module")
def no_spares(warm_system: otpy.System) -> Iterator[None]:
    """Of the few processes that are kept ready none is left for the next file, which has other modules."""
    yield
    ports = ports_of(warm_system)
    with ports._lock:
        for spare in ports.spares.clear():
            spare.interrupt()


@pytest.fixture
def farm(quiet: None, no_spares: None, warm_system: otpy.System) -> Iterator[otpy.System]:
    """That system, empty again when the test ends."""
    yield warm_system
    for ref in reversed(list(warm_system.tops.values())):
        ref.stop()
    warm_system.wait_idle()
    assert warm_system.alive == 0
