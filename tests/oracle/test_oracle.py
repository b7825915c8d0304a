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
from oracle.search import Search
from support.systems import quiet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["quiet"]

FOUND = sorted(Path(__file__).with_name("found").glob("*.json"))
ROUNDS = 300
"""Scenarios of an ordinary run; `python -m tests.oracle` plays more."""
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


@pytest.mark.parametrize("part", range(3))
def test_otp_and_otpy_do_the_same(beam: beams.Beam, part: int) -> None:
    search = Search(ROUNDS // 3, part)
    search.run(beam)
    assert search.played == ROUNDS // 3


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_was_found_once_is_mended(beam: beams.Beam, path: Path) -> None:
    compare(Scenario.load(path), beam)


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
