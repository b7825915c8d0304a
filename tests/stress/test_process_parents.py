"""Programs with process children that are killed, or stopped in their terminal: nothing of them is left."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

LONG = [pytest.mark.stress, pytest.mark.timeout(600)]
TIMES = [pytest.param(1, id="small"), pytest.param(10, id="large", marks=LONG)]
SOON = 1.0
"""Seconds after which nothing may be left: in half of the rounds at least, as the machine may be busy with others."""

ENV = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"}


IN_A_TERMINAL = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)"


def family(folder: Path, *, first: str = "", has_slow: bool = False) -> list[str]:
    """The program, which does something `first`."""
    return [
        sys.executable,
        "-c",
        f"{first}\nfrom support.family import main\nmain({str(folder)!r}, has_slow={has_slow})",
    ]


def all_below(pid: int) -> list[int]:
    """A process's descendants."""
    try:
        texts = [task.joinpath("children").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return []
    own = [int(word) for text in texts for word in text.split()]
    return own + [below for child in own for below in all_below(child)]


def seconds_until_ended(pidfds: list[int]) -> float:
    began = time.monotonic()
    for pidfd in pidfds:
        assert select.select([pidfd], [], [], 10.0)[0], "it is still there"
        os.close(pidfd)
    return time.monotonic() - began


@pytest.mark.parametrize("times", TIMES)
def test_a_killed_program_leaves_nothing(tmp_path: Path, times: int) -> None:
    """One computes, one sleeps in C code, one has a process of its own, one is starting, one is spare."""
    took = []
    for number in range(times):
        folder = tmp_path / str(number)
        folder.mkdir()
        with subprocess.Popen(family(folder, has_slow=True), stdout=subprocess.PIPE, env=ENV, text=True) as program:
            assert program.stdout is not None
            assert program.stdout.readline() == "ready\n"
            below = all_below(program.pid)
            pidfds = [os.pidfd_open(pid) for pid in below]
            program.kill()
            took.append(seconds_until_ended(pidfds))
        assert len(below) >= 1 + 5 + 1 + 1, "the helper, five children, the process of one, a spare one"
    assert sorted(took)[len(took) // 2] < SOON


@pytest.mark.report("D104", "celery/celery#2700", "celery/celery#6244")
@pytest.mark.parametrize("times", TIMES)
def test_ctrl_c_in_a_terminal_stops_in_order(tmp_path: Path, times: int) -> None:
    """The terminal sends SIGINT to the whole group in front; children are not in it, and are stopped by the tree.

    Some of them hang, so that the drain takes all of its time unless the key is pressed again.
    """
    for number in range(times):
        folder = tmp_path / str(number)
        folder.mkdir()
        terminal, end = pty.openpty()
        command = family(folder, first=IN_A_TERMINAL)
        program = subprocess.Popen(command, stdin=end, stdout=end, stderr=end, env=ENV, start_new_session=True)
        os.close(end)
        said = read_until(terminal, b"ready")
        pidfds = [os.pidfd_open(one) for one in all_below(program.pid)]
        os.write(terminal, b"\x03")
        said += read_until(terminal, b"told")
        os.write(terminal, b"\x03")
        said += read_until(terminal, b"\nleft ")  # its log has the word, too
        status = program.wait(30.0)
        os.close(terminal)
        seconds_until_ended(pidfds)
        assert status == 0, said.decode()
        assert b"left 0" in said
        ends = {file.name: file.read_text() for file in folder.iterdir()}
        assert ends == {"two": "0 shutdown", "one": "1 shutdown"}


def read_until(terminal: int, word: bytes) -> bytes:
    """What it says, up to the line with this word."""
    said = b""
    while word not in said or not said.endswith(b"\n"):
        assert select.select([terminal], [], [], 30.0)[0], said.decode()
        try:
            more = os.read(terminal, 4096)
        except OSError:  # its last process has closed it
            break
        said += more
    return said
