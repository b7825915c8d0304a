"""Programs that are killed with SIGKILL at each step of a write: the next one starts with a whole configuration."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]


def play(folder: Path, rounds: int, seed: int) -> int:
    """Have it killed so often; gives how often that was in the middle of something."""
    script = TESTS / "support" / "configuration_kills.py"
    where = {**os.environ, "PYTHONPATH": f"{TESTS}:{TESTS.parent}"}
    run = subprocess.run(
        [sys.executable, script, folder, str(rounds), str(seed)],
        capture_output=True,
        text=True,
        env=where,
        timeout=200,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3_000:]
    return int(run.stdout)


def test_what_refresh_has_returned_is_there_and_whole_wherever_it_is_killed(tmp_path: Path) -> None:
    assert play(tmp_path, 5, seed=1) >= 4


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(10))
def test_the_same_many_times(tmp_path: Path, seed: int) -> None:
    assert play(tmp_path, 100, seed=seed) >= 80
