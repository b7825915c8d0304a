"""Restart back-off as tables: it grows, is cut, and only then shaken."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

import otpy
from otpy.core.backoff import Backoff, asked_by, delay, delay_as_asked, is_healthy
from otpy.core.intensity import Limit
from otpy.core.spec_check import check_spec
from otpy.errors import SpecError


@pytest.mark.parametrize(
    ("backoff", "delays"),
    [
        (Backoff(), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]),
        (Backoff(first=10.0, most=300.0), [10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0]),  # as Kubernetes
        (Backoff(first=0.5, factor=1.0), [0.5, 0.5, 0.5]),
        (Backoff(first=0.0), [0.0, 0.0]),
    ],
)
def test_pauses_grow_up_to_the_most(backoff: Backoff, delays: list[float]) -> None:
    assert [delay(backoff, attempts, 0.0) for attempts in range(len(delays))] == delays


@pytest.mark.parametrize(("jitter", "least"), [(1.0, 0.0), (0.5, 30.0), (0.0, 60.0)])
def test_jitter_comes_after_the_cut_and_only_shortens(jitter: float, least: float) -> None:
    """So that pauses at the upper end do not all have the same length."""
    backoff, chance = Backoff(jitter=jitter), Random(4)
    drawn = [delay(backoff, 20, chance.random()) for _ in range(1_000)]
    assert least <= min(drawn) <= least + 1.0
    assert 59.0 <= max(drawn) <= 60.0
    assert len(set(drawn)) == (1_000 if jitter else 1)


@given(some.integers(0, 10**6), some.floats(0, 1, exclude_max=True), some.floats(0, 1e6), some.floats(1, 1e6))
def test_no_pause_is_longer_than_the_most_however_many_there_were(
    attempts: int, chance: float, first: float, factor: float
) -> None:
    assert 0.0 <= delay(Backoff(first=first, factor=factor, most=1e6), attempts, chance) <= 1e6


@pytest.mark.parametrize(
    ("reset_after", "ran", "healthy"), [(None, 59.9, False), (None, 60.0, True), (5.0, 5.0, True), (5.0, 4.9, False)]
)
def test_child_is_healthy_after_a_while(reset_after: float | None, ran: float, *, healthy: bool) -> None:
    assert is_healthy(Backoff(reset_after=reset_after), ran) is healthy


@pytest.mark.parametrize(("said", "asked"), [(7, 7), (0.5, 0.5), ("7", None), (None, None), (True, None)])
def test_an_error_asks_for_a_pause_by_a_number_alone(said: object, asked: float | None) -> None:
    error = OSError()
    assert asked_by(error) is None
    error.retry_after = said  # type: ignore[attr-defined]  # as errors of HTTP clients have it
    assert asked_by(error) == asked


@pytest.mark.parametrize(
    ("attempts", "asked", "chance", "pause"),
    [
        (0, 0.5, 0.0, 1.0),  # its own pause is the longer one
        (0, 0.5, 0.5, 1.1),
        (0, 7.0, 0.0, 7.0),
        (0, 7.0, 0.5, 7.1),
        (9, 7.0, 0.5, 66.0),
        (0, 500.0, 0.0, 500.0),  # beyond `most`, too
    ],
)
def test_who_asks_for_a_pause_is_left_alone_as_long(attempts: int, asked: float, chance: float, pause: float) -> None:
    assert delay_as_asked(Backoff(), attempts, asked, chance) == pytest.approx(pause)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"backoff": Backoff(first=-1.0)}, "backoff: first=-1.0, most=60.0: seconds"),
    ({"backoff": Backoff(first=61.0)}, "backoff: first=61.0, most=60.0: seconds"),
    ({"backoff": Backoff(most=otpy.INFINITY)}, "backoff: first=1.0, most=inf: seconds"),
    ({"backoff": Backoff(first=float("nan"))}, "fields are numbers"),
    ({"backoff": Backoff(first="1")}, "fields are numbers"),  # type: ignore[arg-type]
    ({"backoff": Backoff(factor=0.5)}, "backoff: factor=0.5: a number >= 1"),
    ({"backoff": Backoff(jitter=2)}, "backoff: jitter=2: from 0 (none) to 1 (full)"),
    ({"backoff": Backoff(reset_after=-1)}, "backoff: reset_after=-1: seconds >= 0"),
    ({"backoff": 3.0}, "backoff: 3.0: otpy.Backoff(…) or None"),
    ({"limit": (3, 5.0)}, "limit: (3, 5.0): otpy.Limit(…) or None"),
    ({"limit": Limit(-1)}, "limit: max_restarts=-1: a whole number >= 0"),
    ({"limit": Limit(1, 0.0)}, "limit: max_seconds=0.0: seconds > 0"),
    ({"limit": Limit(then="explode")}, "limit: then='explode': 'give_up' or 'escalate'"),  # type: ignore[arg-type]
    ({"limit": Limit(), "restart": "temporary"}, "limit with restart='temporary': it is never started again"),
    ({"backoff": Backoff(), "restart": "temporary"}, "backoff with restart='temporary'"),
]


@pytest.mark.parametrize(("options", "said"), WRONG, ids=lambda value: value if isinstance(value, str) else "")
def test_what_cannot_be_is_refused_with_the_path(options: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError) as caught:
        check_spec("t", otpy.child(print).opts(**options))
    assert str(caught.value).startswith("t/print: ")
    assert said in str(caught.value)
