"""Programs of their own that a measurement is about: they take a word a line, and say one with the time."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, cast

from benchmarks.measure import percentile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.model import Job

REST = 0.02
"""Seconds until nobody has anything to do."""
WARM_UP = 5


def say(word: str, at: float | None = None) -> None:
    """In such a program: one word, and when; the clock is the same for all programs of a machine."""
    sys.stdout.write(f"{word} {time.monotonic() if at is None else at}\n")
    sys.stdout.flush()


class Program:
    """One of them, as who measures sees it."""

    def __init__(self, module: str, *args: object) -> None:
        """Start it."""
        self.process = subprocess.Popen(self.command(module, *args), stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    @staticmethod
    def command(module: str, *args: object) -> list[str]:
        """How it is started."""
        return [sys.executable, "-m", f"benchmarks.{module}", *map(str, args)]

    def ask(self, word: str) -> None:
        """Tell it to do something."""
        pipe = cast("IO[bytes]", self.process.stdin)
        pipe.write(f"{word}\n".encode())
        pipe.flush()

    def said(self, word: str) -> float:
        """When it said so; waits until it does."""
        for line in cast("IO[bytes]", self.process.stdout):
            said, _, when = line.decode().partition(" ")
            if said == word:
                return float(when)
        raise RuntimeError(f"it ended before it said {word!r}")

    def kill(self) -> None:
        """As `kill -9` does."""
        self.process.kill()

    def end(self) -> None:
        """Leave nothing of it."""
        self.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


@contextmanager
def started(*commands: tuple[object, ...]) -> Iterator[list[Program]]:
    """Programs one after the other, each when the one before is ready; ended with the block."""
    programs: list[Program] = []
    try:
        for module, *args in commands:
            programs.append(Program(str(module), *args))
            programs[-1].said("ready")
        yield programs
    finally:
        for program in programs:
            program.end()


def latency(job: Job, worker: tuple[object, ...], enqueuer: tuple[object, ...]) -> float:
    """The median of the milliseconds from just before one program enqueues a job until another one begins it."""
    waits = []
    with started(worker, enqueuer) as (works, enqueues):
        for _ in range(job.size("jobs") + WARM_UP):
            time.sleep(REST)
            enqueues.ask("tell")
            waits.append(works.said("begun") - enqueues.said("enqueued"))
    return percentile(waits[WARM_UP:], 50) * 1_000
