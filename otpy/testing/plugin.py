"""The pytest plugin: fixtures with a fresh system, and a look after each test whether it left something behind.

pytest finds it by itself where otpy is installed; `-p no:otpy` switches it off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import pytest

from otpy.runtime.system import System
from otpy.testing.drains import drained
from otpy.testing.remains import Before
from otpy.testing.system import VirtualSystem

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["drained_system", "otpy_leaves_nothing", "otpy_system", "virtual_system"]

S = TypeVar("S", bound=System)

STOP = 5.0
"""Real seconds in which a fixture's system must stop."""


@pytest.fixture(autouse=True)
def otpy_leaves_nothing() -> Iterator[None]:
    """Fail a test that leaves an actor, a thread of otpy or a control socket behind."""
    before = Before()
    yield
    left = before.left_since()
    if left:
        pytest.fail("left behind by the test:\n  " + "\n  ".join(left), pytrace=False)


@pytest.fixture
def otpy_system() -> Iterator[System]:
    """A fresh system on real time, stopped after the test, which fails when something would not stop."""
    yield from _until_stopped(System("test"))


@pytest.fixture
def virtual_system() -> Iterator[VirtualSystem]:
    """The same on virtual time: `virtual_system.clock.advance(seconds)`."""
    yield from _until_stopped(VirtualSystem("test"))


@pytest.fixture
def drained_system() -> Iterator[VirtualSystem]:
    """As `virtual_system`, drained at the end of the test, which fails when anything is late or left undone."""
    system = VirtualSystem("test")
    yield system
    if system.stopped:  # the test has done so itself
        return
    report = drained(system)
    if not report.is_clean:
        pytest.fail(
            "the system did not drain in time:\n  " + "\n  ".join([*report.late, *report.undone]), pytrace=False
        )


def _until_stopped(system: S) -> Iterator[S]:
    yield system
    late = system.stop(timeout=STOP)
    if late:
        pytest.fail("the system did not stop:\n  " + "\n  ".join(map(str, late)), pytrace=False)
