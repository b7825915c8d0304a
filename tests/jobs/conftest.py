"""A system for each test, at rest and empty when it ends; two programs on one store, and several on a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from otpy.testing import Gate
from support.helpers import forked_helpers
from support.systems import clock, events, quiet, system, timed

from .fleet import DOERS, Fleet
from .pair import Pair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["clock", "events", "forked_helpers", "quiet", "system", "timed"]


@pytest.fixture
def make(quiet: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Pair]]:
    """Makes a pair, which is stopped when the test ends."""
    made: list[Pair] = []

    def pair(*different: dict[str, Any], **options: Any) -> Pair:
        made.append(Pair(tmp_path, monkeypatch, *different, **options))
        return made[0]

    yield pair
    for one in made:
        one.stop()


@pytest.fixture
def fleet(quiet: None) -> Iterator[Callable[..., Fleet]]:
    """Makes one, which is stopped when the test ends."""
    DOERS.clear()
    made: list[Fleet] = []

    def begin(number: int, kinds: list[Any], **options: Any) -> Fleet:
        made.append(Fleet(number, kinds, **options))
        return made[-1]

    yield begin
    for one in made:
        one.stop()


@pytest.fixture
def gate() -> Iterator[Gate]:
    with Gate() as made:
        yield made
