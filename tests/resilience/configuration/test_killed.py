"""Real programs: killed with SIGKILL at each step of a write, brought down by what they apply, told to stop."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.configurations import Rates, program, running
from support.forked import run

if TYPE_CHECKING:
    import subprocess

pytestmark = pytest.mark.any_python

TESTS = Path(__file__).parents[2]


def run_script(name: str, *args: object) -> subprocess.CompletedProcess[str]:
    where = {**os.environ, "PYTHONPATH": f"{TESTS}:{TESTS.parent}"}
    command = [sys.executable, TESTS / "support" / name, *map(str, args)]
    return run(command, text=True, env=where, timeout=200)


def play(folder: Path, rounds: int, seed: int) -> int:
    """Have it killed so often; gives how often that was in the middle of something."""
    run = run_script("configuration_kills.py", folder, rounds, seed)
    assert run.returncode == 0, run.stderr[-3_000:]
    return int(run.stdout)


def test_what_refresh_has_returned_is_there_and_whole_wherever_it_is_killed(tmp_path: Path) -> None:
    assert play(tmp_path, 5, seed=1) >= 4


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(10))
def test_the_same_many_times(tmp_path: Path, seed: int) -> None:
    assert play(tmp_path, 100, seed=seed) >= 80


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Version 1 is good, and 2 has just come."""
    path, hub = tmp_path / "limits", Rates()
    hub.has(1)
    one = running(path, hub)
    system = program(one)
    system.clock.advance(301.0)
    hub.has(2)
    one.refresh()
    system.stop()
    return path


def begins_with(folder: Path) -> int | None:
    """The version that the next program has."""
    one = running(folder, Rates())
    program(one).stop()
    return one.version


def test_one_that_brings_the_agent_down_twice_is_skipped(folder: Path) -> None:
    ends = [run_script("configuration_crashes.py", folder, "dies") for _ in range(2)]
    assert [(end.returncode, end.stdout) for end in ends] == [(-9, "20\n"), (-9, "20\n")]
    assert begins_with(folder) == 1


def test_a_sigterm_in_start_up_is_no_crash(folder: Path) -> None:
    ends = [run_script("configuration_crashes.py", folder, "stops") for _ in range(2)]
    assert [end.stdout for end in ends] == ["20\n", "20\n"]
    assert {end.returncode for end in ends}.isdisjoint({-9})
    assert begins_with(folder) == 2
