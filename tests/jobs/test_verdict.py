"""What becomes of a job after an attempt: tables of cases, in the order of the law."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import otpy
from otpy.jobs.verdict import Failed, after_failure, given_back, snoozed

from .rows import row

PAUSES = otpy.Backoff(first=2.0, factor=2.0, most=60.0)
NOW = 1_000_000


def after(job: Any, failed: Any, chance: float = 0.0) -> Any:
    return after_failure(job, Failed(**{"failure": "error", "text": "boom", **failed}), PAUSES, chance=chance, now=NOW)


@pytest.mark.parametrize(
    ("job", "failed", "state", "reason"),
    [
        ({}, {}, "scheduled", ""),
        ({"errors": 2}, {}, "dead", "errors"),
        ({"errors": 2}, {"failure": "crash"}, "ready", ""),
        ({"crashes": 2}, {"failure": "crash"}, "dead", "crashes"),
        ({"crashes": 2}, {}, "scheduled", ""),
        ({}, {"failure": "crash"}, "ready", ""),
        ({}, {"action": "ignore"}, "done", "its error is ignored"),
        ({}, {"action": "fail"}, "cancelled", "its error is final"),
        ({}, {"action": "dead"}, "dead", "its error is final"),
        ({"errors": 2}, {"action": "ignore"}, "done", "its error is ignored"),
        ({"deadline_at": NOW}, {"action": "ignore"}, "dead", "deadline"),
        ({"deadline_at": NOW + 1_999}, {}, "dead", "deadline"),
        ({"deadline_at": NOW + 2_001}, {}, "scheduled", ""),
    ],
)
def test_what_an_attempt_leads_to(job: Any, failed: Any, state: str, reason: str) -> None:
    settled = after(row(**job), failed)
    assert (settled.state, settled.reason) == (state, reason)


@pytest.mark.parametrize(("errors", "seconds"), [(0, 2.0), (1, 4.0)])
def test_pauses_grow(errors: int, seconds: float) -> None:
    assert after(row(errors=errors), {}).run_at == NOW + seconds * 1_000


@pytest.mark.parametrize(("chance", "seconds"), [(0.0, 100.0), (0.5, 100.2)])
def test_what_an_error_asks_for_is_never_cut_short(chance: float, seconds: float) -> None:
    assert after(row(), {"retry_after": 100.0}, chance).run_at == NOW + seconds * 1_000


@pytest.mark.report("J52", "payloadcms/payload#16318")
@given(st.floats(0, 1, exclude_max=True), st.integers(0, 40))
def test_pauses_are_spread_over_all_of_their_length_and_bounded(chance: float, errors: int) -> None:
    settled = after(row(errors=errors, max_errors=99), {}, chance)
    full = min(60.0, 2.0 * 2.0**errors)
    assert settled.run_at - NOW == pytest.approx(full * (1 - chance) * 1_000, abs=1)


def test_a_failure_is_remembered() -> None:
    attempt = after(row(attempt=2), {"failure": "timeout"}).attempt
    assert (attempt.number, attempt.at, attempt.failure, attempt.text) == (2, NOW, "timeout", "boom")


@pytest.mark.parametrize(
    ("seconds", "deadline", "state", "run_at"),
    [(0.0, None, "ready", NOW), (5.0, None, "scheduled", NOW + 5_000), (5.0, NOW + 5_000, "dead", None)],
)
def test_a_snooze_costs_no_attempt(seconds: float, deadline: Any, state: str, run_at: Any) -> None:
    settled = snoozed(row(deadline_at=deadline), seconds, NOW)
    assert (settled.state, settled.run_at, settled.is_free) == (state, run_at, state != "dead")


def test_what_is_given_back_is_ready_where_it_was() -> None:
    settled = given_back(row(run_at=7), NOW)
    assert (settled.state, settled.run_at, settled.is_free, settled.attempt) == ("ready", 7, True, None)
