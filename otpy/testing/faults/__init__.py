"""Faults at named points, for tests: a seeded script kills, hangs, raises, cuts links, fills disks, moves clocks.

In a module of your own: `from otpy.testing import faults`, and `faults.point("sender.before")` where it may fail.
"""

from __future__ import annotations

from otpy.core.points import apoint, point
from otpy.testing.errors import FaultError, FaultNotFiredError
from otpy.testing.faults.environment import from_environment
from otpy.testing.faults.kinds import (
    Fault,
    cut,
    disk_full,
    drop,
    fsync_error,
    half,
    hang,
    jump,
    kill,
    kill_actor,
    raises,
    slow,
)
from otpy.testing.faults.link import Link
from otpy.testing.faults.script import Firing, Script, armed, fired_in

__all__ = [
    "Fault",
    "FaultError",
    "FaultNotFiredError",
    "Firing",
    "Link",
    "Script",
    "apoint",
    "armed",
    "cut",
    "disk_full",
    "drop",
    "fired_in",
    "from_environment",
    "fsync_error",
    "half",
    "hang",
    "jump",
    "kill",
    "kill_actor",
    "point",
    "raises",
    "slow",
]
