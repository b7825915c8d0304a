"""How old a configuration is, over restarts and whatever somebody does to the machine's clock."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from otpy.core.clock import virtual_wall, wall_clock
from otpy.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.core.clock import Clock

__all__ = ["Age", "Moment", "Stamp", "moments"]

JUMP = 2.0
"""Seconds by which the time of day may drift from the time that has passed, before somebody has set the clock."""


@value
class Moment:
    """Now, by each clock there is."""

    wall: int
    """The time of day, in milliseconds since 1970; whoever sets the clock has it jump."""
    boot: str
    """Which start of the machine this is; empty where it cannot be told."""
    uptime: float
    """Seconds, sleep included, that no one can set; they count from the machine's start, or from any other point."""


@value
class Stamp:
    """That it had an age at a moment, as it is kept."""

    age: float
    wall: int
    boot: str
    uptime: float

    def age_at(self, now: Moment) -> float:
        """Seconds since the hub said that it is current.

        As long as the machine runs that is exact. Over a restart of the machine there is the time of day alone: one
        that was wrong then, or is wrong now, makes it wrong, but it is never less than it was when it was last written.
        """
        if self.boot and self.boot == now.boot and now.uptime >= self.uptime:
            return self.age + now.uptime - self.uptime
        return self.age + max(0.0, (now.wall - self.wall) / 1_000)


class Age:
    """The age of the current configuration; within one run of the agent it goes by what no one can set."""

    def __init__(self, moment: Callable[[], Moment], stamp: Stamp | None) -> None:
        """From what was kept."""
        self._moment = moment
        self._at = moment()
        self._base = None if stamp is None else stamp.age_at(self._at)
        self._written = stamp

    def now(self) -> float | None:
        """Seconds; None when no hub has ever said anything of it."""
        return None if self._base is None else self._base + max(0.0, self._moment().uptime - self._at.uptime)

    def fresh(self) -> Stamp:
        """What is to be kept of one that the hub has just given."""
        now = self._moment()
        return Stamp(0.0, now.wall, now.boot, now.uptime)

    def confirm(self, written: Stamp | None = None) -> None:
        """The hub has just said that it is current, and this is kept of it."""
        self._at, self._base = self._moment(), 0.0
        self._written = written or self._written

    def forget(self) -> None:
        """It is not the hub's."""
        self._base = None

    def stamp(self) -> Stamp | None:
        """To be kept."""
        age, now = self.now(), self._moment()
        self._written = None if age is None else Stamp(age, now.wall, now.boot, now.uptime)
        return self._written

    def is_off(self, slack: float) -> bool:
        """Whether what is kept would tell an age that is wrong by more than so many seconds, or somebody set the clock.

        Not each word of the hub is worth a write.
        """
        age, written = self.now(), self._written
        if age is None or written is None:
            return age is not None
        now = self._moment()
        passed = (now.wall - written.wall) / 1_000
        was_set = abs(passed - (now.uptime - written.uptime)) > JUMP
        return was_set or abs(written.age + passed - age) > slack


def moments(clock: Clock) -> Callable[[], Moment]:
    """What tells the moment of a system: that of the machine, or of virtual time."""
    if clock.is_virtual:
        wall = virtual_wall(clock)
        return lambda: Moment(wall(), "", clock.now())
    boot, uptime = _boot(), _uptime()
    return lambda: Moment(wall_clock(), boot, uptime())


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _uptime() -> Callable[[], float]:
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic if clock is None else lambda: time.clock_gettime(clock)
