"""The story of a fleet at full length: two hundred agents, and other orders of what befalls them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from support.source import ROOT

pytestmark = [pytest.mark.stress, pytest.mark.any_python, pytest.mark.timeout(300)]


def play(*options: str) -> subprocess.CompletedProcess[str]:
    """Tell it; whatever it has started is ended with it."""
    command = [sys.executable, "-m", "examples.fleet_story", *options]
    story = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        printed, _ = story.communicate(timeout=280)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(story.pid, signal.SIGKILL)
    return subprocess.CompletedProcess(command, story.returncode, printed)


def test_two_hundred_agents_lose_nothing() -> None:
    told = play("--agents", "200", "--seconds", "60", "--seed", "1")

    assert told.returncode == 0, told.stdout


@pytest.mark.parametrize("seed", range(2, 7))
def test_in_whatever_order_it_befalls_them_nothing_is_lost(seed: int) -> None:
    told = play("--agents", "20", "--seconds", "12", "--every", "0.2", "--seed", str(seed))

    assert told.returncode == 0, told.stdout
