"""What holds up threads of tests from outside."""

from __future__ import annotations

import math
import os
import select
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.stress.again import main
from tests.stress.holding import MARK, Holding
from tests.stress.lanes import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

ECHO = """
import sys
from tests.stress import held
print("ready", flush=True)
for line in sys.stdin:
    print(line, end="", flush=True)
"""

SLEEPS = """
import threading, time

def test_that_is_held():
    lock, took = threading.Lock(), 0.0
    lock.acquire()
    while took < 0.003:
        began = time.monotonic()
        lock.acquire(timeout=0.001)
        took = time.monotonic() - began - 0.001
"""


def test_a_thread_that_is_held_does_nothing_until_it_is_let_go() -> None:
    holding = Holding("test")
    with subprocess.Popen(
        [sys.executable, "-c", ECHO],
        cwd=ROOT,
        env=os.environ | {MARK: "test"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stdout.readline() == b"ready\n"
        while not holding.held:
            holding.look(chance=1.0)  # it is about to read
        program.stdin.write(b"hello\n")
        is_held = not select.select([program.stdout], [], [], 0.003)[0]
        while holding.held:
            holding.let_go(math.inf)
        assert program.stdout.readline() == b"hello\n"
        program.stdin.close()
    assert program.returncode == 0
    assert is_held


def test_a_program_in_which_another_one_was_started_is_left_alone() -> None:
    """It would die of the signal."""
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], env=os.environ | {MARK: "test"}, stdin=subprocess.PIPE
    ) as program:
        holding = Holding("test")
        for _ in range(3):
            holding.look(chance=1.0)
        holding.let_go(math.inf)
        program.communicate(b"hello\n")
    assert program.returncode == 0


def test_the_command_slows_what_it_plays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pytest.ini").touch()
    (tmp_path / "test_made_up.py").write_text(SLEEPS)

    assert main(["--runs", "1", "--slowed", str(tmp_path), "--", "-p", "no:otpy", "-p", "no:hypothesispytest"]) == 0

    assert "1 runs of 1, 1 clean" in capsys.readouterr().out
    assert MARK not in os.environ
