"""Seconds in sentences."""

from __future__ import annotations

import math

import pytest

from otpy.core.seconds import in_seconds


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0, "0 s"),
        (0.000393, "<0.001 s"),
        (0.00231, "0.002 s"),
        (0.0462, "0.046 s"),
        (0.521, "0.52 s"),
        (0.5, "0.5 s"),
        (2.468, "2.47 s"),
        (24.93, "24.9 s"),
        (25.0, "25 s"),
        (3_600.0, "3600 s"),
        (math.inf, "inf s"),
    ],
)
def test_seconds_are_said_no_finer_than_anybody_wants_to_know(seconds: float, said: str) -> None:
    assert in_seconds(seconds) == said
