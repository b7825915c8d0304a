"""Hundreds of rounds of chaos on the store of jobs, and minutes of it on a server."""

from __future__ import annotations

import subprocess
import sys

import pytest

from support.postgres import needed
from support.source import ROOT


@pytest.mark.stress
@pytest.mark.timeout(3_600)
def test_nothing_is_lost_or_doubled_in_five_hundred_rounds() -> None:
    command = [sys.executable, "-m", "tests.jobs.chaos", "--rounds", "500", "--seed", "1000"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.stress
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("seed", range(1_000, 1_010))
def test_nothing_is_lost_or_doubled_in_a_minute_on_a_server(seed: int) -> None:
    needed()
    command = [
        sys.executable,
        "-m",
        "tests.jobs.chaos",
        "--store",
        "postgresql",
        "--seconds",
        "60",
        "--seed",
        str(seed),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
