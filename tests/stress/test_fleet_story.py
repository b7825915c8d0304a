"""The story of a fleet at full length: two hundred agents, and other orders of what befalls them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from support.source import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.stress, pytest.mark.any_python, pytest.mark.timeout(300)]


def play(*options: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Tell it; whatever it has started is ended with it."""
    command = [sys.executable, "-m", "examples.fleet_story", *options]
    story = subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ | environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
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


def test_a_hub_that_never_starts_is_told_of_instead_of_waited_for(tmp_path: Path) -> None:
    """It was started again for ever, and nothing was said."""
    broken = tmp_path / "prometheus_client" / "__init__.py"
    broken.parent.mkdir()
    broken.write_text("raise ImportError('not the one')")

    told = play("--agents", "3", "--seconds", "3", PYTHONPATH=os.pathsep.join((str(tmp_path), str(ROOT))))

    assert told.returncode == 1
    assert "the hub gave up 3 times in a row" in told.stdout
    assert "not the one" in told.stdout
