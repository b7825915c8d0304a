"""The kernel's own suite, over every place and every pair of places: `stage`, `place`, `one` and `other`."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.testing import Recorder
from otpy.testing.remains import ends_within
from support.players import Player
from support.stage import KINDS, PLACES, Stage
from support.systems import quiet

if TYPE_CHECKING:
    from collections.abc import Iterator


__all__ = ["quiet"]

FAMILIES = [(parent, child) for parent in PLACES for child in PLACES if child.name in parent.starts]
OWN_THREAD = re.compile(r"otpy-\d+-")
LAST_BREATH = 20.0
"""Seconds a thread that is already ending may take; only a failing test waits so long."""


@pytest.fixture(scope="package")
def house() -> Iterator[otpy.System]:
    """One system for the whole suite: the helper that starts processes is up, and has imported otpy."""
    system = otpy.System("t")
    system.start(otpy.child(Player).opts(place="process", start_timeout=60.0)).stop()
    yield system
    assert [str(one) for one in system.stop(timeout=30.0)] == []


@pytest.fixture(autouse=True)
def no_thread_left_behind(stage: Stage) -> Iterator[None]:
    """Those of the system stay, for the next test; actors that have ended have none left."""
    yield
    stage.close()
    resting = {f"otpy-{ref.number}-{ref.id}" for ref in stage.system.tops.values()}
    for thread in threading.enumerate():
        if OWN_THREAD.match(thread.name) and thread.name not in resting:
            assert ends_within(thread, LAST_BREATH), f"{thread.name} is left behind"


@pytest.fixture(scope="package")
def resting() -> dict[str, list[otpy.Ref[Any]]]:
    """Actors by their place that are as new: to start a process for each test would take most of its time."""
    return {}


@pytest.fixture
def stage(quiet: None, house: otpy.System, resting: dict[str, list[otpy.Ref[Any]]]) -> Iterator[Stage]:
    """The system, empty again when the test ends."""
    one = Stage(house, resting)
    yield one
    one.close()
    house.wait_idle()
    assert house.alive == sum(map(len, resting.values()))
    assert house.zombies() == []


@pytest.fixture
def events(stage: Stage) -> Iterator[Recorder]:
    """What the system reports."""
    with Recorder(stage.system) as recorder:
        yield recorder


def pytest_generate_tests(metafunc: Any) -> None:
    """A test that takes a `place`, or `one` and `other`, is run in all of them; `parent` is who starts a `child`."""
    for name, places in (("place", KINDS), ("one", PLACES), ("other", PLACES)):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, places, ids=str)
    if "parent" in metafunc.fixturenames:
        metafunc.parametrize(("parent", "child"), FAMILIES, ids=str)
