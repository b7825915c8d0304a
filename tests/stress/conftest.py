"""Thousands of rounds; each test has a small version that always runs and a large one marked `stress`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from support.systems import quiet

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["quiet"]

LONG = [pytest.mark.stress, pytest.mark.timeout(600)]
ROUNDS = [pytest.param(1, id="small"), pytest.param(30, id="large", marks=LONG)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test that takes `rounds` its two sizes, and one that takes `switching` two switch intervals."""
    if "rounds" in metafunc.fixturenames:
        metafunc.parametrize("rounds", ROUNDS)
    if "switching" in metafunc.fixturenames:
        metafunc.parametrize("switching", [None, 5e-6], indirect=True, ids=["calm", "hectic"])


@pytest.fixture
def switching(request: pytest.FixtureRequest) -> Iterator[None]:
    """Have threads change places a thousand times as often as Python does by itself."""
    before = sys.getswitchinterval()
    if request.param is not None:
        sys.setswitchinterval(request.param)
    yield
    sys.setswitchinterval(before)
