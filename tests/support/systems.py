"""Fixtures that the tests of several floors share; a conftest takes those it needs by importing them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.testing import Recorder, VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["clock", "events", "quiet", "system", "timed"]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Crashes are the input of these tests: they are not printed."""
    log = logging.getLogger("otpy")
    log.setLevel(logging.CRITICAL + 1)
    yield
    log.setLevel(logging.NOTSET)


@pytest.fixture
def system(quiet: None) -> Iterator[otpy.System]:
    """A system on real time, at rest and empty when the test ends."""
    yield from _at_rest(otpy.System("t"))


@pytest.fixture
def clock() -> VirtualClock:
    """A clock that moves when told."""
    return VirtualClock()


@pytest.fixture
def timed(clock: VirtualClock) -> Iterator[otpy.System]:
    """A system on that clock, at rest and empty when the test ends."""
    yield from _at_rest(otpy.System("t", clock=clock))


@pytest.fixture
def events(system: otpy.System) -> Iterator[Recorder]:
    """What the system reports."""
    with Recorder(system) as recorder:
        yield recorder


def _at_rest(system: otpy.System) -> Iterator[otpy.System]:
    yield system
    system.wait_idle()
    left = system.stop(timeout=30.0)
    assert [str(one) for one in left] == []
    assert system.alive == 0
