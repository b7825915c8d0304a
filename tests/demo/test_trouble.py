"""Crashes on purpose: drawn alike each time, and the only ones kept out of the log."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.demo.trouble import AFTER, BEFORE, MOMENTS, WHILE, CrashOnPurpose, Trouble, mute
from otpy.events import ActorCrashed, ChildTerminated, RestartLimitReached

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.events import Event

TOKENS = range(1, 2_001)


def crashes(trouble: Trouble) -> set[tuple[int, str]]:
    """Every claim and moment at which an agent would crash."""
    return {(token, moment) for token in TOKENS for moment in MOMENTS if _strikes(trouble, token, moment)}


def _strikes(trouble: Trouble, token: int, moment: str) -> bool:
    try:
        trouble.strike(token, moment)
    except CrashOnPurpose as crash:
        return str(crash) == moment
    return False


def test_the_same_seed_draws_the_same_crashes_and_another_seed_others() -> None:
    first, again, other = (crashes(Trouble(0.05, seed)) for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("moment", [BEFORE, WHILE, AFTER])
def test_about_as_many_strike_as_the_probability_says_at_each_moment(moment: str) -> None:
    struck = sum(when == moment for _, when in crashes(Trouble(0.05, seed=1)))
    assert 60 < struck < 140


def test_a_probability_of_one_strikes_always_and_of_zero_never() -> None:
    assert len(crashes(Trouble(1.0))) == len(TOKENS) * len(MOMENTS)
    assert crashes(Trouble(0.0)) == set()


PURPOSE = otpy.Crashed("CrashOnPurpose", "while reading")
FAULT = otpy.Crashed("ValueError", "no number")


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What reaches the log while the demo has muted it."""
    logger = logging.getLogger("otpy")
    before = [*logger.filters]
    mute()
    yield caplog
    logger.filters = before


def limit(reason: otpy.Reason) -> RestartLimitReached:
    return RestartLimitReached(path="demo/crews/1", child="1", max_restarts=3, max_seconds=5.0, reason=reason)


@pytest.mark.parametrize(
    ("event", "lines"),
    [
        (ActorCrashed(path="a", kind="Agent", reason=PURPOSE, message=None, queue=0), 0),
        (ChildTerminated(path="a", reason=PURPOSE), 0),
        (limit(PURPOSE), 0),
        (ActorCrashed(path="a", kind="Agent", reason=FAULT, message=None, queue=0), 1),
        (limit(FAULT), 1),
    ],
)
def test_only_crashes_on_purpose_and_what_they_bring_about_are_kept_out_of_the_log(
    log: pytest.LogCaptureFixture, event: Event, lines: int
) -> None:
    otpy.System("x").events.emit(event)
    assert len(log.records) == lines


def test_other_records_stay_in_the_log(log: pytest.LogCaptureFixture) -> None:
    logging.getLogger("otpy").error("anything")
    assert log.messages == ["anything"]


def test_a_pause_ends_when_it_is_to_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(otpy, "sleep", slept.append)
    assert Trouble(pause=0.25).wait()
    assert slept == pytest.approx([0.1, 0.1, 0.05])
    assert not Trouble(pause=1000.0).wait(lambda: len(slept) == 5)
    assert slept[3:] == [0.1, 0.1]
