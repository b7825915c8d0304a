"""A system for each test, at rest and empty when it ends."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.testing import Recorder, VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Crashes are the input of these tests: they are not printed."""
    log = logging.getLogger("otpy")
    log.setLevel(logging.CRITICAL + 1)
    yield
    log.setLevel(logging.NOTSET)


@pytest.fixture
def system(quiet: None) -> Iterator[otpy.System]:
    """A system on real time."""
    yield from _system(otpy.System("t"))


@pytest.fixture
def clock() -> VirtualClock:
    """A clock that moves when told."""
    return VirtualClock()


@pytest.fixture
def timed(clock: VirtualClock) -> Iterator[otpy.System]:
    """A system on that clock."""
    yield from _system(otpy.System("t", clock=clock))


@pytest.fixture
def events(system: otpy.System) -> Iterator[Recorder]:
    """What the system reports."""
    with Recorder(system) as recorder:
        yield recorder


def _system(system: otpy.System) -> Iterator[otpy.System]:
    yield system
    system.wait_idle()
    left = system.stop(timeout=5.0)
    assert [str(one) for one in left] == []
    assert system.alive == 0
