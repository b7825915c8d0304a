"""Restart intensity as tables: the window is exact, and its edge counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from otpy.core.intensity import Window, admit
from support.timelines import ROWS


def dies_at(max_restarts: int, max_seconds: float, crashes: list[int]) -> int | None:
    """The number of the crash (from 1) that is one too many; None when all are borne.

    The rule knows no unit: milliseconds, as whole numbers, hit the edge of the window exactly.
    """
    window, stamps = Window(max_restarts, max_seconds * 1000), list[float]()
    for number, crash in enumerate(crashes, 1):
        if not admit(window, stamps, crash):
            return number
    return None


@pytest.mark.otp_case(132, 133, 134)
@pytest.mark.parametrize(("max_restarts", "max_seconds", "crashes", "of_otp", "expected"), ROWS)
def test_timeline(
    max_restarts: int, max_seconds: float, crashes: list[int], of_otp: int | None, expected: int | None
) -> None:
    """Adapted where the exact clock asks for it."""
    assert dies_at(max_restarts, max_seconds, crashes) == expected


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_otp_differs_only_where_a_gap_lies_between_the_window_and_one_second_more(
    row: tuple[int, float, list[int], int | None, int | None],
) -> None:
    """Semantics 7.5."""
    max_restarts, max_seconds, crashes, of_otp, expected = row
    if of_otp == expected:
        return
    span = (crashes[of_otp - 1] - crashes[of_otp - 1 - max_restarts]) / 1000
    assert max_seconds < span < max_seconds + 1


@pytest.mark.report("A11", "gleam-lang/otp#45")
def test_defaults_are_three_restarts_in_five_seconds() -> None:
    """There the two were swapped."""
    assert Window() == Window(max_restarts=3, max_seconds=5.0)


@pytest.mark.parametrize(
    ("window", "problem"),
    [
        (Window(0, 0.1), None),
        (Window(3, float("inf")), None),
        (Window(-1), "max_restarts=-1: a whole number >= 0"),
        (Window(3, 0), "max_seconds=0: seconds > 0"),
        (Window(3, float("nan")), "max_seconds=nan: seconds > 0"),
        (Window(3, 10**400), "max_seconds=<int of 1329 bits>: seconds > 0"),  # `now - max_seconds` would overflow
    ],
)
def test_a_window_says_why_it_cannot_be_used(window: Window, problem: str | None) -> None:
    assert window.problem() == problem


@pytest.mark.report("A10", "erlang/otp#9866")
def test_hundred_thousand_restarts_keep_no_more_stamps_than_the_window_can_hold() -> None:
    window, stamps = Window(3, 5.0), list[float]()
    longest = 0
    for number in range(100_000):
        assert admit(window, stamps, number * 1.7)
        longest = max(longest, len(stamps))
    assert longest == 3


@given(
    some.integers(0, 5),
    some.floats(0.1, 10),
    some.lists(some.floats(0, 5, allow_nan=False), max_size=30),
)
def test_counts_what_a_plain_reading_of_the_rule_counts(
    max_restarts: int, max_seconds: float, gaps: list[float]
) -> None:
    window = Window(max_restarts, max_seconds)
    now, stamps = 0.0, list[float]()
    all_stamps: list[float] = []
    for gap in gaps:
        now += gap
        all_stamps.append(now)
        allowed = admit(window, stamps, now)
        counted = [stamp for stamp in all_stamps if stamp >= now - max_seconds]
        assert stamps == counted
        assert allowed is (len(counted) <= max_restarts)
