"""Eight rounds of chaos, whose checker sees what it is to see; `python -m tests.jobs.chaos` plays more."""

from __future__ import annotations

import subprocess
import sys
from typing import get_args

import pytest

from support.postgres import needed
from support.source import ROOT

from .chaos.plan import plan
from .chaos.troubles import What, draw


@pytest.mark.any_python
@pytest.mark.timeout(300)
@pytest.mark.report("J32", "coleifer/huey#253")
@pytest.mark.report("J2", "oban-bg/oban#430")
@pytest.mark.report("J29", "janbjorge/pgqueuer#475")
@pytest.mark.report("J41", "kubernetes/kubernetes#23731")
def test_nothing_is_lost_or_doubled_in_programs_that_are_killed_stopped_and_continued() -> None:
    """In a process of its own, which forks: this one has threads."""
    command = [sys.executable, "-m", "tests.jobs.chaos", "--rounds", "8"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 rounds, 0 bad" in done.stdout


def test_a_round_is_the_same_each_time() -> None:
    assert plan(7) == plan(7) != plan(8)


@pytest.mark.any_python
@pytest.mark.timeout(300)
def test_nothing_is_lost_or_doubled_in_three_programs_on_a_server_that_is_killed_as_they_are() -> None:
    """As above, on a server of its own."""
    needed()
    command = [sys.executable, "-m", "tests.jobs.chaos", "--store", "postgresql", "--seconds", "5", "--seed", "11"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 s of faults, 0 bad" in done.stdout


def test_the_troubles_of_a_run_are_the_same_each_time_and_of_all_kinds() -> None:
    assert draw(7, 60.0) == draw(7, 60.0) != draw(8, 60.0)
    assert {one.what for one in draw(11, 5.0)} == {*get_args(What)}
