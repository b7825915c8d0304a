"""One program of a round on a file: it enqueues, works, is led or leads, and does to itself what its plan says."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import otpy
from otpy import jobs
from otpy.core.clock import wall_clock
from otpy.jobs.client import of
from otpy.jobs.engine import Engine
from otpy.jobs.store.sqlite.store import SqliteStore
from otpy.jobs.store.sqlite.transaction import SqliteTransaction

from .ends import wind_up
from .history import on_file
from .plan import LEASE, Life
from .standby import stand_by
from .works import ACT, SCHEDULES, TICK, Asking, begin, engine, history, kill_one

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .plan import Where

__all__ = ["play"]


class Store(SqliteStore):
    """Passes the points of its transactions."""

    @contextmanager
    def transaction(self) -> Iterator[SqliteTransaction]:
        with super().transaction() as tx:
            finish = tx.finish

            def finished() -> None:
                finish()
                history().point("commit")

            tx.finish = finished  # type: ignore[method-assign]  # to pass that point
            history().point("begin")
            yield tx
        history().point("committed")


def play(folder: Path, life: Life, where: Where, shift_ms: int, *, is_last: bool) -> None:
    """Live; returns when told to stop, or, the last one, when there is nothing left to do."""
    if where.apart:
        stand_by()
    begin(folder, life)
    told: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: told.append(number))
    logging.getLogger("otpy").setLevel(logging.CRITICAL + 1)
    system = otpy.System(life.name, max_zombies=100)
    _shift(life, shift_ms)
    system.start(engine(folder / "jobs.db", where, lease=LEASE, poll=0.03))
    _enqueue(system, Asking(of(system), folder, life, where), told)
    client, late = of(system), time.monotonic() + 4 * LEASE
    while not told:
        time.sleep(0.05)
        if is_last and _is_done(client, is_late=time.monotonic() > late):
            break
        if not is_last:
            _work_on(client, life, told)
    wind_up(system, life, SqliteTransaction)


def _shift(life: Life, shift_ms: int) -> None:
    """Have the engine of this program go by another clock, and write the history of its store."""
    init = Engine.init

    def shifted(self: Engine, setup: Any) -> None:
        init(self, replace(setup, now=lambda: wall_clock() + shift_ms))

    Engine.init = shifted  # type: ignore[method-assign]
    Engine._open = lambda self: _opened(self.setup, life.name)  # type: ignore[method-assign]


def _opened(setup: Any, name: str) -> Store:
    store = Store(setup.path, profile=setup.profile, now=setup.now)
    store._db.create_function("chaos_now", 0, setup.now)
    store._db.create_function("chaos_who", 0, lambda: f"{name}.{os.getpid()}")
    on_file(store._db)
    return store


def _enqueue(system: otpy.System, asking: Asking, told: list[int]) -> None:
    for index in range(asking.life.jobs):
        how = asking.ask()
        if told:
            return
        asking.ask_for_the_only(how)
        if index < asking.life.kills:
            kill_one(system, asking.chance)


def _work_on(client: jobs.Client, life: Life, told: list[int]) -> None:
    """There is always something to do, also for one that wakes up and finds that another one leads."""
    with suppress(otpy.errors.OtpyError):
        if not told:
            client.enqueue_all([ACT.new(number, "ok") for number in range(life.seed % 3)])


def _is_done(client: jobs.Client, *, is_late: bool) -> bool:
    """Whether no job lives any more, and the schedules have been fired, or would have been by now."""
    with suppress(otpy.errors.OtpyError):
        if not is_late and len(client.find(kind=TICK.name)) < len(SCHEDULES):
            return False
        numbers: Counter[str] = Counter()
        for look in client.queues():
            numbers.update(look.numbers)
        return not (numbers["scheduled"] or numbers["ready"] or numbers["running"])
    return False
