"""Run the tests again and again, and name what fails even once.

    python -m tests.stress.again --runs 100
    python -m tests.stress.again --runs 100 --beside 2 --for 600 --keep failures
    python -m tests.stress.again --runs 30 --hectic tests/runtime tests/places
    python -m tests.stress.again --runs 10 --slowed
    python -m tests.stress.again --runs 3 --halted

The tests are collected once for several runs; each run is a process of its own, with directories of its own.
`--hectic` has threads change places as often as they can, beside a process for each processor that only computes.
`--slowed` holds up threads that sleep, each some times a second, mostly for less than 40 ms.
`--halted` has threads halt between any two lines of otpy and its tests, from CPython 3.12 on.
"""

from __future__ import annotations

import argparse
import os
import platform
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from .holding import MARK
from .lanes import ROOT, Lane, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HOG = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"
AFRESH = 10
"""Runs of one collection: it is dear, but they have its seed of hashes, and so the order of each set, in common."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run them; returns 1 when anything has failed or was cut short."""
    asked = _parse(arguments)
    with _kept(asked.keep) as kept, _beside(asked):
        runs = Runs(asked, kept)
        is_whole = _until_interrupted(runs)
    runs.sum_up()
    return int(bool(runs.failures) or not is_whole)


class Runs:
    """All of them, several at once, and what has come of them."""

    def __init__(self, asked: argparse.Namespace, kept: Path) -> None:
        self.failures: Counter[str] = Counter()
        self._asked, self._kept = asked, kept
        self._numbers = _numbers(asked.runs, asked.minutes)
        self._lanes: list[Lane] = []
        self._ended = self._clean = 0
        self._is_told = False

    def play(self) -> None:
        """Play them, as many at a time as are asked for."""
        for _ in range(self._asked.beside):
            self._go_on(None)
        with _waking() as told:
            while self._lanes:
                for lane in select.select([*self._lanes, told], [], [])[0]:
                    if lane is not told:
                        self._hear(lane)

    def close(self) -> None:
        """End what is still played, and tell what has failed in it."""
        for lane in self._lanes:
            lane.hang_up()
        while self._lanes:
            outcome = self._lanes.pop().close()
            if outcome is not None:
                self._count(outcome)

    def sum_up(self) -> None:
        """Say how often what has failed."""
        for name, times in self.failures.most_common():
            _say(f"{name} has failed in {times} of {self._ended} runs")
        failed = len(self.failures)
        tests = f"{failed or 'none'} of the tests {'has' if failed < 2 else 'have'} failed"
        _say(f"{self._ended} runs of {self._asked.runs}, {self._clean} clean, {tests}")

    def _hear(self, lane: Lane) -> None:
        outcome = lane.hear()
        if outcome is None:
            self._tell_what_is_played(lane)
            return
        self._count(outcome)
        if lane.is_lost and lane.tests is None:
            self._numbers.close()  # the next could not collect them either
        self._lanes.remove(lane)
        self._go_on(lane)

    def _go_on(self, lane: Lane | None) -> None:
        """With the next run, where there is one: in this lane, or in a new one."""
        number = next(self._numbers, None)
        if lane and (number is None or lane.is_lost or lane.played >= self._asked.afresh):
            lane.close()
            lane = None
        if number is not None:
            lane = lane or Lane(_words(self._asked), self._kept, self._asked.patience)
            self._lanes.append(lane)
            lane.order(number)

    def _tell_what_is_played(self, lane: Lane) -> None:
        if not self._is_told:
            self._is_told = True
            python = f"{platform.python_implementation()} {platform.python_version()}"
            _say(f"{_commit()}; {python}; {lane.tests} tests; what fails is kept in {self._kept}")

    def _count(self, outcome: Outcome) -> None:
        self._ended += 1
        self._clean += not outcome.failed
        self.failures.update(outcome.failed)
        _say(str(outcome))
        for name in outcome.failed:
            _say(f"  {name}")
        if outcome.output is not None:
            _say(f"  its output: {outcome.output}")


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=100, help="how many")
    parser.add_argument("--beside", type=int, default=1, metavar="N", help="so many at a time; 1")
    parser.add_argument("--afresh", type=int, default=AFRESH, metavar="N", help="collect again after so many; 10")
    parser.add_argument("--for", type=float, dest="minutes", metavar="MINUTES", help="begin no run after so long")
    parser.add_argument(
        "--patience", type=float, default=3600.0, metavar="SECONDS", help="a run that takes longer hangs"
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="for the output of failed runs; a temporary one")
    parser.add_argument("--hectic", action="store_true", help="with threads and processes in each other's way")
    parser.add_argument("--slowed", action="store_true", help="with threads that are held up now and then")
    parser.add_argument("--halted", action="store_true", help="with threads that halt between any two lines")
    parser.add_argument("paths", nargs="*", help="files and folders, and options of pytest behind --; the whole suite")
    return parser.parse_args(arguments)


def _numbers(runs: int, minutes: float | None) -> Iterator[int]:
    until = None if minutes is None else time.monotonic() + 60 * minutes
    for number in range(1, runs + 1):
        if until is not None and time.monotonic() >= until:
            return
        yield number


def _words(asked: argparse.Namespace) -> list[str]:
    known = {"hectic": asked.hectic, "held": asked.slowed, "halted": asked.halted}
    plugins = [name for name, is_asked in known.items() if is_asked]
    return [*(word for name in plugins for word in ("-p", f"stress.{name}")), *asked.paths]


def _until_interrupted(runs: Runs) -> bool:
    """Play them; a Ctrl-C or SIGTERM ends all that has been started, and is no error."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        runs.play()
    except KeyboardInterrupt:
        _say("interrupted")
        return False
    finally:
        runs.close()
        signal.signal(signal.SIGTERM, before)
    return True


@contextmanager
def _waking() -> Iterator[socket.socket]:
    """What can be read once a signal has come: CPython overlooks one that comes as the main thread falls asleep."""
    told, tell = socket.socketpair()
    tell.settimeout(0.0)
    before = signal.set_wakeup_fd(tell.fileno())
    try:
        with told, tell:
            yield told
    finally:
        signal.set_wakeup_fd(before)


def _commit() -> str:
    """What is tested, and whether it is what was committed."""
    try:
        commit = _git("log", "-1", "--format=%h %s")
        changed = len(_git("status", "--porcelain").splitlines())
    except (OSError, subprocess.CalledProcessError):
        return "no commit"
    return f"commit {commit}, {f'{changed} files differ' if changed else 'nothing differs'}"


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S607


@contextmanager
def _kept(folder: Path | None) -> Iterator[Path]:
    """A folder for what is kept, which goes away when that is nothing."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix="again-", dir=folder)).absolute()
    yield made
    with suppress(OSError):
        made.rmdir()


@contextmanager
def _beside(asked: argparse.Namespace) -> Iterator[None]:
    """What makes it harder meanwhile: programs that end with this one, however it ends."""
    commands = [["-c", HOG]] * ((os.cpu_count() or 1) if asked.hectic else 0)
    if asked.slowed:
        os.environ[MARK] = str(os.getpid())
        commands.append(["-m", "tests.stress.holding", os.environ[MARK]])
    programs = [subprocess.Popen([sys.executable, *command], cwd=ROOT) for command in commands]
    try:
        yield
    finally:
        os.environ.pop(MARK, None)
        for program in programs:
            program.kill()
            program.wait()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
