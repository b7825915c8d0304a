"""Plays rounds: forks the programs of each, continues those that have stopped, and checks what they leave behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from .check import problems_of_file
from .lives import fork, left_behind, tell_stacks
from .plan import BEFORE_CRON, LEASE, Life, plan
from .player import play
from .works import EXIT_STATUS

if TYPE_CHECKING:
    from .plan import Plan

__all__ = ["Told", "play_round", "play_rounds"]

PATIENCE = 60.0
"""Seconds that a round may take; only a failing one takes so long."""
MINUTE_MS = 60_000


class Round:
    """One, in a folder of its own. Its process has no other children."""

    def __init__(self, made: Plan, folder: Path) -> None:
        self.plan, self.folder = made, folder
        self.began = time.monotonic()
        now = time.time_ns() // 1_000_000
        self.cron_at = (now // MINUTE_MS + 1) * MINUTE_MS
        self.shift_ms = self.cron_at - now - round(BEFORE_CRON * 1_000)
        self.left = [list(lives) for lives in made.lives]
        self.lines: dict[int, int] = {}
        self.stopped: dict[int, float] = {}
        self.asleep: set[int] = set()
        self.found: list[str] = []
        self.faults: Counter[str] = Counter()

    def run(self) -> list[str]:
        """All that is wrong afterwards."""
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        for line in range(len(self.left)):
            self._start(line)
        while self.lines and not self.found:
            self._hear()
        if not self.found:
            self._settle()
        self._kill_all()
        return self.found or [*problems_of_file(self.folder, self.cron_at), *left_behind(self.folder)]

    def _settle(self) -> None:
        """Faults have ended: one more program sees that all else does, too."""
        rest = self.began + BEFORE_CRON + 0.2 - time.monotonic()
        time.sleep(max(0.0, rest))
        self._fork(len(self.left), Life("last", 0, 0, 0, None), is_last=True)
        while self.lines and not self.found:
            self._hear()

    def _start(self, line: int) -> None:
        life = self.left[line].pop(0)
        self._fork(line, life)

    def _fork(self, line: int, life: Life, *, is_last: bool = False) -> None:
        pid = fork(
            self.folder,
            life.name,
            lambda: play(self.folder, life, self.plan.where, self.shift_ms, is_last=is_last),
        )
        self.lines[pid] = line
        if not is_last:  # a clean stop after a while; some faults are for a point that does not come
            self.stopped[pid] = time.monotonic() + (2 if life.fault is None else 6) * LEASE

    def _hear(self) -> None:
        """Wait for what happens next to one of them."""
        signal.sigtimedwait({signal.SIGCHLD}, 0.1)
        while self.lines:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            if not pid:
                break
            if os.WIFSTOPPED(status):
                self.stopped[pid] = time.monotonic() + 2 * LEASE
                self.asleep.add(pid)
                self.faults["stopped"] += 1
            else:
                self._ended(pid, status)
        self._wake()
        if time.monotonic() - self.began > PATIENCE:
            tell_stacks(self.lines)
            self.found.append(f"I10: {self.lines} go on for {PATIENCE:g} s")

    def _wake(self) -> None:
        now = time.monotonic()
        for pid, at in list(self.stopped.items()):
            if now >= at:
                del self.stopped[pid]
                self._go_on(pid)

    def _go_on(self, pid: int) -> None:
        """Let one go on that has stopped, which may believe that it leads; tell it to stop a lease later."""
        if pid in self.asleep:
            self.asleep.remove(pid)
            os.kill(pid, signal.SIGCONT)
            self.stopped[pid] = time.monotonic() + LEASE
        else:
            os.kill(pid, signal.SIGTERM)

    def _ended(self, pid: int, status: int) -> None:
        line = self.lines.pop(pid)
        self.stopped.pop(pid, None)
        self.asleep.discard(pid)
        code = os.waitstatus_to_exitcode(status)
        self.faults[{EXIT_STATUS: "ended by a job", -signal.SIGKILL: "killed"}.get(code, "told to stop")] += 1
        if code not in (0, EXIT_STATUS, -signal.SIGKILL):
            self.found.append(f"a program of line {line} ended with {code}")
        elif line < len(self.left) and self.left[line]:
            self._start(line)
        elif line == len(self.left) and code:
            self._fork(line, Life("again", 0, 0, 0, None), is_last=True)  # a job has ended it

    def _kill_all(self) -> None:
        for pid in self.lines:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def play_round(seed: int, folder: Path) -> tuple[list[str], Counter[str]]:
    """The round of this number; all that is wrong afterwards, and how its programs have ended."""
    made = Round(plan(seed), folder)
    return made.run(), made.faults


@dataclass
class Told:
    """What came of many rounds."""

    bad: dict[int, list[str]] = field(default_factory=dict)
    """What was wrong in which."""
    faults: Counter[str] = field(default_factory=Counter)
    """How often programs were killed, stopped, ended by a job, or told to stop."""


def play_rounds(first: int, number: int, *, at_once: int = 4, keep: Path | None = None) -> Told:
    """Many, some at once, each in a process of its own."""
    told = Told()
    seeds = list(range(first, first + number))
    running: dict[int, tuple[int, Path]] = {}
    while seeds or running:
        while seeds and len(running) < at_once:
            seed = seeds.pop(0)
            folder = Path(tempfile.mkdtemp(prefix=f"chaos-{seed}-"))
            running[_fork_round(seed, folder)] = seed, folder
        pid, status = os.wait()
        seed, folder = running.pop(pid)
        result = json.loads((folder / "result").read_text())
        told.faults.update(result["faults"])
        if status:
            told.bad[seed] = result["found"]
            if keep is not None:
                shutil.copytree(folder, keep / str(seed), dirs_exist_ok=True)
        shutil.rmtree(folder)
    return told


def _fork_round(seed: int, folder: Path) -> int:
    pid = os.fork()
    if pid:
        return pid
    found, faults = ["the round itself failed"], Counter[str]()
    try:
        found, faults = play_round(seed, folder)
    except BaseException:  # as above
        found = traceback.format_exc().splitlines()
    finally:
        (folder / "result").write_text(json.dumps({"found": found, "faults": faults}))
        sys.stdout.flush()
        os._exit(1 if found else 0)
