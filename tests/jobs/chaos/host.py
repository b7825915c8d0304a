"""One program on a server: it enqueues and works until it is told to stop, or something ends it."""

from __future__ import annotations

import logging
import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import otpy
from otpy import jobs
from otpy.errors import StartError
from otpy.jobs.client import of
from otpy.jobs.model.lead import SHARED
from otpy.jobs.store.postgres import guest, session
from otpy.jobs.store.postgres.transaction import PostgresTransaction

from .ends import wind_up
from .standby import stand_by
from .terms import UNDER
from .works import STAMP, Asking, begin, engine, kill_one

if TYPE_CHECKING:
    from pathlib import Path

    from .plan import Life, Where

__all__ = ["CALM", "LEASE", "NO_SERVER", "lease_of", "live", "shift"]

LEASE = 1.5
"""Seconds: short, and yet several times what a server takes that starts anew; one host has twice of it."""
NO_SERVER = 3
"""The status of a program that has found no server, and is to be started again."""
CALM = "calm"
"""The file whose being there says that faults are over, and that nothing more is to be enqueued."""


def shift(ms: int) -> None:
    """Have this program, and its children, take the server's clock to be ahead by this: a minute ends when it shall."""
    session.CLOCK = guest.CLOCK = f"({session.CLOCK} + {ms})"  # type: ignore[misc]


def lease_of(host: int) -> float:
    """Programs may be set up otherwise: each goes by what another one has written down, and not by its own."""
    return 2 * LEASE if host == 1 else LEASE


def live(folder: Path, life: Life, where: Where, url: str, lease: float = LEASE) -> int:
    """Live; returns the status to end with."""
    stand_by()
    begin(folder, life)
    told: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: told.append(number))
    logging.basicConfig(format="%(asctime)s %(message)s")
    system = otpy.System(life.name, max_zombies=100)
    try:
        begun = system.start(engine(f"{url}&application_name={life.name}.{os.getpid()}", where, lease=lease, poll=0.2))
    except StartError:
        system.stop(timeout=30.0)
        return NO_SERVER
    clerk = jobs.singleton("clerk", lambda fence: otpy.child(Clerk, fence, folder).opts(shutdown=0.2), lease=lease)
    system.start(clerk)
    asking = Asking(of(system), folder, life, where)
    while not told and begun.is_alive():
        if not (folder / CALM).exists():
            _be_busy(system, asking)
        time.sleep(asking.chance.uniform(0.02, 0.3))
    left = wind_up(system, life, PostgresTransaction)
    return 1 if left or not told else 0


class Clerk(otpy.GenServer):
    """Exists once in all programs, and writes under its epoch again and again."""

    def init(self, fence: jobs.Fence, folder: Path) -> None:
        """Under this one."""
        self.fence, self.folder, self.jobs = fence, folder, jobs.of(self.system).under(fence)
        self.send_interval(LEASE / 5, "write")

    def handle_info(self, message: object) -> None:
        """It may be too late for it; what is enqueued while all drain, is for programs that are still to come."""
        if (self.folder / CALM).exists():
            return
        with suppress(otpy.errors.OtpyError):
            tenant = f"{UNDER}{SHARED}{self.fence.name} {self.fence.epoch}"
            self.jobs.enqueue(STAMP.new("clerk").opts(tenant=tenant))


def _be_busy(system: otpy.System, asking: Asking) -> None:
    how = asking.ask()
    if asking.chance.random() < 0.3:
        asking.ask_for_the_only(how)
    if asking.chance.random() < 0.03:
        kill_one(system, asking.chance)
