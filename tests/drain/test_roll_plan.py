"""Who of a roll may be next, told from plain data."""

from __future__ import annotations

from typing import Any

import pytest

import otpy
from otpy.drain.roll_plan import Terms, Unit, may_begin
from otpy.errors import SpecError

SPEC = otpy.child(otpy.GenServer)


def units(states: str) -> list[Unit]:
    """One for each letter: `w`aiting, `a`ctive, `d`one."""
    words: dict[str, Any] = {"w": "waiting", "a": "proving", "d": "done"}
    return [Unit(f"t/{place}", SPEC, words[state]) for place, state in enumerate(states)]


@pytest.mark.parametrize(
    ("states", "down", "most", "begun"),
    [
        ("www", "", 1, "0"),
        ("www", "", 2, "01"),
        ("www", "", 9, "012"),
        ("aww", "", 1, ""),
        ("aww", "", 2, "1"),
        ("dww", "", 1, "1"),
        ("dww", "0", 1, ""),  # another one died meanwhile
        ("dww", "0", 2, "1"),
        ("www", "2", 1, "2"),  # it is down anyway
        ("www", "12", 1, "1"),
        ("www", "12", 2, "12"),
        ("aww", "12", 2, "1"),
        ("www", "9", 1, ""),  # one that is no part of the roll
        ("ddd", "", 1, ""),
    ],
)
def test_no_more_are_begun_than_may_be_away(states: str, down: str, most: int, begun: str) -> None:
    found = may_begin(units(states), {f"t/{place}" for place in down}, most)
    assert [unit.path for unit in found] == [f"t/{place}" for place in begun]


@pytest.mark.parametrize(
    "words", [{"max_unavailable": 0}, {"tries": 1.5}, {"healthy_after": -1.0}, {"within": float("inf")}]
)
def test_terms_that_cannot_work_are_refused(words: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match="roll: "):
        Terms(path="t", **words)
