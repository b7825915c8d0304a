"""Retry budgets and the window they are counted in: pure, with time as a number."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otpy.errors import SpecError
from otpy.resilience import RetryBudget
from otpy.resilience.budget import BudgetRules, RetryLedger
from otpy.resilience.window import PARTS, Window
from support.services import Crowd


def taken(ledger: RetryLedger | RetryBudget, now: float, tries: int) -> int:
    """How many of so many retries there may be."""
    return sum(ledger.take(now) for _ in range(tries))


def test_there_are_as_many_retries_as_the_ratio_allows() -> None:
    ledger = RetryLedger(BudgetRules(ratio=0.2, minimum=0.0))
    for _ in range(100):
        ledger.first(0.0)

    assert taken(ledger, 1.0, 50) == 20


def test_first_attempts_count_for_a_window_only() -> None:
    ledger = RetryLedger(BudgetRules(ratio=0.2, window=60.0, minimum=0.0))
    for _ in range(100):
        ledger.first(0.0)

    assert taken(ledger, 59.0, 5) == 5
    assert taken(ledger, 60.0, 50) == 0


def test_a_few_in_a_second_there_are_at_any_rate() -> None:
    ledger = RetryLedger(BudgetRules(ratio=0.2, minimum=10.0))

    assert [taken(ledger, second, 50) for second in (0.0, 0.5, 1.0, 1.0, 100.0)] == [10, 5, 5, 0, 10]


def test_less_than_one_in_a_second_is_one_now_and_then() -> None:
    ledger = RetryLedger(BudgetRules(ratio=0.0, minimum=0.1))

    assert [taken(ledger, float(second), 5) for second in (0, 5, 10, 30)] == [1, 0, 1, 1]


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.floats(0.0, 5.0), st.integers(0, 30), st.integers(0, 30)), max_size=40),
    st.floats(0.0, 1.0),
    st.integers(0, 5),
)
def test_there_are_never_more_than_both_rules_together_allow(
    steps: list[tuple[float, int, int]], ratio: float, minimum: int
) -> None:
    ledger = RetryLedger(BudgetRules(ratio=ratio, window=60.0, minimum=minimum))
    now, firsts, retries = 0.0, 0, 0
    for seconds, attempts, tries in steps:
        now += seconds
        for _ in range(attempts):
            ledger.first(now)
        firsts += attempts
        retries += taken(ledger, now, tries)

        assert retries <= ratio * firsts + minimum * (now + 1.0) + 1e-6


def test_a_budget_is_shared_by_threads() -> None:
    budget = RetryBudget(ratio=0.5, minimum=0.0)
    for _ in range(100):
        budget.first(0.0)

    crowd = Crowd(20, lambda: taken(budget, 1.0, 10))
    counts = crowd.results(20)
    crowd.join()

    assert sum(int(str(number)) for number in counts) == 50


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"ratio": -0.1}, "ratio=-0.1: a number >= 0"),
        ({"minimum": "few"}, "minimum='few': a number >= 0"),
        ({"window": 0.0}, "window=0.0: seconds > 0"),
    ],
)
def test_a_budget_that_cannot_be_is_refused(options: dict[str, float], text: str) -> None:
    with pytest.raises(SpecError) as got:
        RetryBudget(**options)

    assert str(got.value) == f"RetryBudget: {text}"


@settings(max_examples=50)
@given(st.lists(st.tuples(st.floats(0.0, 30.0), st.integers(0, 1)), max_size=60))
def test_a_window_holds_what_is_young_and_nothing_that_is_old(steps: list[tuple[float, int]]) -> None:
    """Between nine tenths of its seconds and all of them nobody says which."""
    window = Window(60.0, kinds=2)
    stamps: list[tuple[float, int]] = []
    now = 0.0
    for seconds, kind in steps:
        now += seconds
        window.add(now, kind)
        stamps.append((now, kind))
        for each in (0, 1):
            young = sum(1 for stamp, k in stamps if k == each and stamp > now - 60.0 * (1 - 1 / PARTS))
            all_of_it = sum(1 for stamp, k in stamps if k == each and stamp > now - 60.0)
            assert young <= window.totals[each] <= all_of_it
