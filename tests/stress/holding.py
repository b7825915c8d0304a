"""Hold up sleeping threads of tests for a moment, again and again, as a busy machine does.

Who takes it for granted that another thread has done by now what it was woken for is found so within a few runs.
`tests.stress.again --slowed` begins it as a program of its own, which ends with that one.
"""

from __future__ import annotations

import ctypes
import os
import random
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from .held import GO_ON, HOLD

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MARK", "Holding"]

MARK = "OTPY_TESTS_HELD_BY"
"""The variable by which programs of tests say whose they are."""
TICK = 0.03
"""Seconds between two looks."""
CHANCE = 0.2
"""For a thread that sleeps, to be held at a look."""
LOOK = 10
"""Looks after which it looks for new programs."""

_PROC = Path("/proc")
_tgkill = ctypes.CDLL(None).tgkill


class Holding:
    """Holds threads of the programs that have this mark."""

    def __init__(self, mark: str) -> None:
        """Nobody yet."""
        self._mark = f"{MARK}={mark}".encode()
        self._programs: list[int] = []
        self._looks = 0
        self.held: dict[tuple[int, int], float] = {}
        """Threads, as a process and a number, with the time until which they are."""

    def look(self, chance: float = CHANCE) -> None:
        """Let go whose time is over, and hold others."""
        if self._looks % LOOK == 0:
            self._programs = [*self._marked()]
        self._looks += 1
        now = time.monotonic()
        self.let_go(now)
        for pid, tid in self._threads():
            if (pid, tid) not in self.held and random.random() < chance:
                self._hold(pid, tid, now + _while())

    def let_go(self, now: float) -> None:
        """Those that were to be held until then; told until they hear, for one may not stand still yet."""
        for (pid, tid), until in list(self.held.items()):
            if until <= now:
                if _has(pid, tid, "SigBlk", HOLD) or _has(pid, tid, "SigPnd", HOLD):
                    _send(pid, tid, GO_ON)
                else:
                    del self.held[pid, tid]

    def _hold(self, pid: int, tid: int, until: float) -> None:
        if _is_asleep(pid, tid):
            self.held[pid, tid] = until
            _send(pid, tid, HOLD)

    def _marked(self) -> Iterator[int]:
        for process in _PROC.glob("[0-9]*"):
            with suppress(OSError):  # it has ended, or is somebody else's
                if self._mark in (process / "environ").read_bytes():
                    yield int(process.name)

    def _threads(self) -> Iterator[tuple[int, int]]:
        for pid in self._programs:
            with suppress(OSError):
                for thread in os.listdir(_PROC / f"{pid}/task"):  # noqa: PTH208 - numbers are wanted
                    yield pid, int(thread)


def main(parent: int) -> None:
    """Until this one has ended."""
    holding = Holding(str(parent))
    while os.getppid() == parent:
        holding.look()
        time.sleep(TICK)


def _while() -> float:
    """Seconds: as for a thread that others go before, and now and then as on a machine that is all too busy."""
    return random.uniform(0.003, 0.04) + random.choice([0.0, 0.0, 0.0, 0.0, 0.0, 0.15])


def _is_asleep(pid: int, tid: int) -> bool:
    """Only then it waits for others, and these wait for nothing that it has."""
    with suppress(OSError):
        return (_PROC / f"{pid}/task/{tid}/stat").read_text().rpartition(")")[2].split()[0] == "S"
    return False


def _has(pid: int, tid: int, what: str, number: int) -> bool:
    with suppress(OSError):
        status = (_PROC / f"{pid}/task/{tid}/status").read_text()
        return bool(int(status.partition(f"{what}:")[2].split()[0], 16) >> (number - 1) & 1)
    return False


def _send(pid: int, tid: int, number: int) -> None:
    """Not to a program that another one has been started in, which would die of it."""
    if _has(pid, tid, "SigCgt", number):
        _tgkill(pid, tid, number)


if __name__ == "__main__":
    main(int(sys.argv[1]))
