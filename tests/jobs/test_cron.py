"""Cron: which times are due, over gaps and repeats of the clock, and after a time in which nobody led."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import otpy
from otpy.jobs.cron import Cron, cron, due, following
from otpy.jobs.kind import job

NY, LORD_HOWE = "America/New_York", "Australia/Lord_Howe"


@job
def tidy() -> None:
    """Is never run here."""


def at(tz: str, *words: int, fold: int = 0) -> int:
    """Milliseconds of a time on the wall."""
    return round(datetime(*words, tzinfo=ZoneInfo(tz), fold=fold).timestamp() * 1_000)  # type: ignore[misc, arg-type]


def told(tz: str, stamp: int) -> str:
    """The other way."""
    return datetime.fromtimestamp(stamp / 1_000, ZoneInfo(tz)).isoformat()


def schedule(expr: str, tz: str = "UTC", **options: Any) -> Cron:
    return cron(expr, tidy.new(), tz=tz, **options)


@pytest.mark.parametrize(
    ("expr", "tz", "day", "times"),
    [
        ("30 2 * * *", NY, (2026, 3, 8), ["2026-03-08T03:00:00-04:00"]),
        ("30 1 * * *", NY, (2026, 11, 1), ["2026-11-01T01:30:00-04:00"]),
        ("0 0-2 * * *", NY, (2026, 11, 1), ["2026-11-01T00:00:00-04:00", "2026-11-01T01:00:00-04:00"]),
        ("15 2 * * *", LORD_HOWE, (2026, 10, 4), ["2026-10-04T02:30:00+11:00"]),
    ],
)
@pytest.mark.report("J37", "agronholm/apscheduler#980")
def test_changes_of_the_clock(expr: str, tz: str, day: tuple[int, int, int], times: list[str]) -> None:
    start = at(tz, *day) - 1
    found = [start]
    while len(found) <= len(times):
        found.append(following(schedule(expr, tz), found[-1]))
    assert [told(tz, one) for one in found[1:]] == times
    assert [told(tz, one) for one in due(schedule(expr, tz, missed="all"), start, found[-1])] == times


@pytest.mark.parametrize(("missed", "count"), [("skip", 0), ("latest", 1), ("all", 10)])
@pytest.mark.report("J35", "kubernetes/kubernetes#42649")
def test_what_was_missed_in_three_days_is_bounded(missed: Any, count: int) -> None:
    now = at("UTC", 2026, 5, 4, 12, 1, 30)
    every = schedule("*/2 * * * *", missed=missed)
    assert len(due(every, now - 3 * 86_400_000, now)) == count
    assert following(every, now) == at("UTC", 2026, 5, 4, 12, 2)


def test_a_time_that_has_just_come_is_due_and_only_once() -> None:
    noon = at("UTC", 2026, 5, 4, 12)
    hourly = schedule("0 * * * *", missed="skip")
    assert due(hourly, noon - 3_600_000, noon - 1) == []
    assert due(hourly, noon - 3_600_000, noon) == [noon]
    assert due(hourly, noon, noon + 59_000) == []


@pytest.mark.parametrize(
    ("expr", "options", "problem"),
    [
        ("0 0 31 2 *", {}, "Bad day-of-month"),
        ("every day", {}, "Wrong number of fields"),
        ("0 0 * * *", {"tz": "Mars/Olympus"}, "a zone of the IANA database"),
        ("0 0 * * *", {"missed": "some"}, "skip, latest or all"),
        ("0 0 * * *", {"overlap": "yes"}, "allow, skip, queue_one or cancel_old"),
        ("0 0 * * *", {"most": 0}, "from 1 to 1000"),
        ("0 0 * * *", {"jitter": -1.0}, "seconds >= 0"),
    ],
)
def test_what_cannot_work_is_refused_where_it_is_written(expr: str, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(otpy.errors.SpecError, match=problem):
        schedule(expr, **options)


@settings(max_examples=60, deadline=None)
@pytest.mark.report("J37", "agronholm/apscheduler#980", "agronholm/apscheduler#1021", "agronholm/apscheduler#1059")
@given(
    st.sampled_from(["*/7 * * * *", "30 2 * * *", "0 */3 * * 0", "59 23 L * *", "15 1,2,3 1-7 3,10,11 *"]),
    st.sampled_from(["UTC", NY, LORD_HOWE, "Europe/Berlin", "Asia/Kathmandu", "America/St_Johns"]),
    st.integers(1_700_000_000_000, 1_900_000_000_000),
)
def test_times_only_grow_and_what_comes_next_is_what_is_due_then(expr: str, tz: str, start: int) -> None:
    every = schedule(expr, tz, missed="all")
    first = following(every, start)
    second = following(every, first)
    assert start < first < second
    assert due(every, start, second) == [first, second]
