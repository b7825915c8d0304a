"""Programs with an outbox that are killed with SIGKILL: nothing that returned is lost, nothing is counted twice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.outboxes import Hub

pytestmark = pytest.mark.any_python

TESTS = Path(__file__).parents[2]


def play(folder: Path, rounds: int, seed: int) -> int:
    """Have it killed so often, and look what has become of it; gives how often that was in the middle of something."""
    script = TESTS / "support" / "outbox_kills.py"
    where = {**os.environ, "PYTHONPATH": f"{TESTS}:{TESTS.parent}"}
    run = subprocess.run(
        [sys.executable, script, folder, str(rounds), str(seed)],
        capture_output=True,
        text=True,
        env=where,
        timeout=100,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3_000:]
    returned = {tuple(line.split()) for line in (folder / "returned").read_text().splitlines()}
    rows = Hub(folder / "hub.db").rows()
    there = {(key, str(value)) for key, value in rows}
    assert returned - there == set(), "what returned is not lost"
    assert len(rows) == len(set(rows)), "nothing is counted twice"
    for key in ("a", "b", "c"):
        values = [value for own, value in rows if own == key]
        assert values == sorted(values), "each key is in its order"
    return int(run.stdout)


def test_nothing_that_returned_is_lost_or_counted_twice_wherever_it_is_killed(tmp_path: Path) -> None:
    assert play(tmp_path, 9, seed=1) >= 6


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(10))
def test_the_same_many_times(tmp_path: Path, seed: int) -> None:
    assert play(tmp_path, 60, seed=seed) >= 40
