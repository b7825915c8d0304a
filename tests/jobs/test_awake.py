"""Whether a program was asleep, by two clocks."""

from __future__ import annotations

import pytest

from otpy.jobs.awake import Awake


@pytest.mark.parametrize(
    ("seconds", "wall", "is_well"),
    [
        (4.0, 4.0, True),
        (3.0, 4.9, True),
        (6.0, 6.0, False),  # stopped, or without its store
        (0.1, 3_600.0, False),  # suspended, or the clock was set
        (4.0, -3_600.0, False),  # set back
        (4.0, 1.9, False),
    ],
)
def test_two_looks_tell(seconds: float, wall: float, is_well: bool) -> None:  # noqa: FBT001 - a column of the table
    awake = Awake(5.0)
    assert awake.look(100.0, 1_000_000)
    assert awake.look(100.0 + seconds, 1_000_000 + round(wall * 1_000)) is is_well
    assert awake.look(100.1 + seconds, 1_000_100 + round(wall * 1_000))
