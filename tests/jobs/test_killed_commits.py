"""A program that is killed before or after each of its commits: no job is lost, and none that is done runs again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.mark.report("J10", "celery/celery#3802")
@pytest.mark.report("J16", "rq/rq#2424")
@pytest.mark.report("J32", "coleifer/huey#253")
def test_wherever_it_is_killed_no_job_is_lost_and_none_that_is_done_runs_again(tmp_path: Path) -> None:
    where = {**os.environ, "PYTHONPATH": f"{TESTS}:{TESTS.parent}"}
    run = subprocess.run(
        [sys.executable, TESTS / "support" / "job_kills.py", tmp_path],
        capture_output=True,
        text=True,
        env=where,
        timeout=100,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3_000:]
    assert int(run.stdout) >= 12
