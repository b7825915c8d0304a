"""The same scenarios on real OTP and on otpy: events, results, deaths and the final tree are equal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from oracle import beam as beams
from oracle.compare import DifferentError, compare
from oracle.families import GROUPS, LIMITS
from oracle.mistakes import MISTAKES
from oracle.model import Scenario
from oracle.places import PLACES
from oracle.search import Search
from support.systems import quiet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["quiet"]

FOUND = sorted(Path(__file__).with_name("found").glob("*.json"))
SLOW = {"process": ["stop_waits_for_one_that_hangs"]}
"""Not played again in a place: there one that hangs is killed after real seconds, and another scenario has one."""
MENDED = [(path, place) for path in FOUND for place in PLACES if path.stem not in SLOW.get(place, ())]
PARTS = [("pool", 0, 100), ("loop", 3, 100), ("thread", 4, 50), ("process", 5, 24)]
"""The place of the workers, the seed, and how many scenarios; `python -m tests.oracle` plays more."""
MORE = [pytest.param("pool", seed, 100, marks=pytest.mark.any_python) for seed in (1, 2)]
"""In the pool nothing but otpy itself decides: further scenarios look for its mistakes, not for a Python's."""
FEW = 50
"""Scenarios within which a wrong strategy must be found."""


@pytest.fixture(scope="module")
def beam() -> Iterator[beams.Beam]:
    """A node; without Erlang these tests are skipped, and fail where OTPY_ORACLE=require says that it must be there."""
    if not beams.is_there():
        say = pytest.fail if os.environ.get("OTPY_ORACLE") == "require" else pytest.skip
        say("the oracle needs Erlang: install erlang-base")
    with beams.Beam() as node:
        yield node


@pytest.mark.parametrize(("place", "seed", "rounds"), [*PARTS, *MORE])
def test_otp_and_otpy_do_the_same(beam: beams.Beam, place: str, seed: int, rounds: int) -> None:
    search = Search(rounds, seed, place=PLACES[place])
    search.run(beam)
    assert search.played == rounds


@pytest.mark.parametrize(("path", "place"), MENDED, ids=lambda part: getattr(part, "stem", part))
def test_what_was_found_once_is_mended(beam: beams.Beam, path: Path, place: str) -> None:
    with PLACES[place].open() as play:
        compare(Scenario.load(path), beam, play)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.__name__)
def test_a_wrong_strategy_is_found(
    beam: beams.Beam, mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    search = Search(FEW, 0, (LIMITS, GROUPS))
    mistake(monkeypatch)
    with pytest.raises(DifferentError):
        search.run(beam, shrinks=False)
    assert search.found is not None
    assert search.found <= FEW
