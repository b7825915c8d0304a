"""Programs that tests run in a process of their own: signals, forks and the end of an interpreter need one."""

from __future__ import annotations

import select
import signal
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any, Self

import pytest

from support.forked import Forked

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Program"]

PATIENCE = 20.0
"""Seconds a program may take; only a failing test waits so long."""

HEAD = """
import faulthandler, os, pathlib, signal, sys, threading, time
faulthandler.enable()
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored where tests run in the background
import otpy
def say(*words):  # in one piece, for several threads may speak
    sys.stdout.flush()
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())
"""


class Program:
    """A Python program that says things line by line."""

    def __init__(self, folder: Path, source: str, start: type[subprocess.Popen[Any]] = Forked) -> None:
        """Start it; its control socket, if it has one, goes into `folder`."""
        code = HEAD + f"FOLDER = pathlib.Path({str(folder)!r})\n" + textwrap.dedent(source)
        # No buffer on this side: what was read ahead would be lost to `communicate`, which reads the pipe itself.
        self.process = start(
            [sys.executable, "-W", "error", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def line(self) -> str:
        """The next line it says."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().decode().strip()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def send_until_it_speaks(self, number: signal.Signals) -> None:
        """Send it a signal again and again: CPython overlooks one that comes as the main thread falls asleep."""
        assert self.process.stdout is not None
        while not select.select([self.process.stdout], [], [], 0.05)[0]:
            self.send(number)

    def end(self) -> tuple[int, str, str]:
        """Wait for its end: its exit status, and the rest of what it said and complained of."""
        try:
            said, complained = self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGABRT)  # it tells where its threads are
            said, complained = self.process.communicate(timeout=PATIENCE)
            pytest.fail(f"it does not end\n{complained.decode()}")
        return self.process.returncode, said.decode().strip(), complained.decode().strip()
