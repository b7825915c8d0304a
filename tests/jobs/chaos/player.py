"""One program of a round: it enqueues, works, is led or leads, and does to itself what its plan says.

What it hears and does goes into a file of history, line by line; what its store does is noted in the same transaction,
in a table of its own, so that the notes are as true as the store.
"""

from __future__ import annotations

import json
import logging
import os
import random
import signal
import subprocess
import time
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import otpy
from otpy import jobs
from otpy.core.clock import wall_clock
from otpy.jobs.client import of
from otpy.jobs.engine import Engine
from otpy.jobs.store.sqlite.store import SqliteStore
from otpy.jobs.store.sqlite.transaction import SqliteTransaction

from .plan import APART, HOWS, LEASE, Life

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .plan import Where

__all__ = ["NOTES", "play"]

NOTES = """
create table if not exists chaos (
    seq integer primary key autoincrement, what text not null, job integer, token integer, epoch integer, more text)
"""
RETRY = jobs.Retry(errors=4, backoff=otpy.Backoff(first=0.02, most=0.1))
TIMEOUT = 0.4
SCHEDULES = ("x", "y")
EXIT_STATUS = 7
"""That of a program that a job has ended."""


class History:
    """A file to which lines are only added, each in one piece; and what the program does to itself."""

    def __init__(self, folder: Path, life: Life) -> None:
        self.file = os.open(folder / "history", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.fault = life.fault
        self.name = life.name
        self.passed: Counter[str] = Counter()

    def say(self, **facts: object) -> None:
        os.write(self.file, (json.dumps({"by": self.name, **facts}) + "\n").encode())
        self.point("said")

    def point(self, name: str) -> None:
        """Be here; it may be the last time."""
        self.passed[name] += 1
        fault = self.fault
        if fault is not None and fault.point == name and fault.number == self.passed[name]:
            os.kill(os.getpid(), getattr(signal, f"SIG{fault.signal}"))


HISTORY: History
"""That of this program."""


def act(number: int, how: str) -> object:  # noqa: C901, PLR0912 - one line for each way to go wrong
    """Do a job in one of the ways of `HOWS`, or of `APART`."""
    me = jobs.current()
    HISTORY.say(begin=me.id, token=me.token, how=how)
    match how, me.attempt:
        case "raise", 1 | 2:
            raise ValueError("not yet")
        case "snooze", _ if me.token == 1:
            return jobs.Snooze(0.05)
        case "exit", 1:
            raise SystemExit(3)
        case "hang", 1:
            time.sleep(TIMEOUT * 1.5)
        case "loop", 1:
            until = time.monotonic() + TIMEOUT * 1.5
            while time.monotonic() < until:
                pass
        case "unfit", 1:
            return object()
        case "once", _:
            me.once("pay", lambda: HISTORY.say(paid=me.id, token=me.token))
        case "poison", _:
            raise SystemExit(4)
        case "leave", 1:
            os._exit(EXIT_STATUS)
        case "for ever", 1:
            while True:
                pass
        case "SIGSEGV" | "SIGSTOP", 1:
            os.kill(os.getpid(), getattr(signal, how))
        case "fork", _:
            subprocess.Popen(["sleep", "60"])  # noqa: S607 - any will do
    HISTORY.say(effect=me.id, token=me.token)
    return number


async def aact(number: int, how: str) -> object:
    """The same on the loop."""
    return act(number, how)


def apart(folder: str, number: int, how: str) -> object:
    """The same in a process of its own, where nothing is but what it is given."""
    global HISTORY  # noqa: PLW0603 - one process
    HISTORY = History(Path(folder), Life("apart", 0, 0, 0, None))
    return act(number, how)


def tick(name: str) -> None:
    """What schedules do."""
    me = jobs.current()
    HISTORY.say(begin=me.id, token=me.token, how=name)
    HISTORY.say(effect=me.id, token=me.token)


DONE_APART: Any = jobs.job(retry=RETRY, timeout=2 * TIMEOUT, killable=True)(apart)
ACT: Any = jobs.job(retry=RETRY, timeout=TIMEOUT)(act)
FEW: Any = jobs.job(name="few", queue="few", retry=RETRY, timeout=TIMEOUT)(act)
AACT: Any = jobs.job(retry=RETRY, timeout=TIMEOUT)(aact)
ONLY: Any = jobs.job(name="only", retry=RETRY, timeout=TIMEOUT, unique=lambda number, _: str(number % 2))(act)
TICK: Any = jobs.job(retry=RETRY, timeout=TIMEOUT)(tick)


class Store(SqliteStore):
    """Passes the points of its transactions."""

    @contextmanager
    def transaction(self) -> Iterator[SqliteTransaction]:
        with super().transaction() as tx:
            HISTORY.point("begin")
            yield tx
        HISTORY.point("committed")


def _note(tx: Any, what: str, *facts: object) -> None:
    tx._db.execute("insert into chaos (what, job, token, epoch, more) values (?, ?, ?, ?, ?)", (what, *facts))


def _noting(name: str, note: Callable[..., None]) -> None:
    """Have what a method of transactions does noted in the same one."""
    done = getattr(SqliteTransaction, name)

    def wrapped(self: SqliteTransaction, *args: Any, **words: Any) -> Any:
        result = done(self, *args, **words)
        note(self, result, *args)
        return result

    setattr(SqliteTransaction, name, wrapped)


def _claimed(tx: Any, result: Any, _: Any, fence: Any) -> None:
    for job in result or ():
        _note(tx, "claim", job.id, job.token, fence.epoch, job.queue)


def _settled(tx: Any, result: Any, outcomes: Any) -> None:
    for one, is_kept in zip(outcomes, result, strict=True):
        if is_kept:
            _note(tx, "end", one.id, one.token, None, one.state)


def _rescued(tx: Any, result: Any, _grace: int, _limit: int, fence: Any, *_: Any) -> None:
    for job in result or ():
        _note(tx, "end", job.id, job.token, fence.epoch, "rescued")


def _elected(tx: Any, result: Any, *_: Any) -> None:
    if result is not None:
        _note(tx, "elect", None, None, result, None)


def _promoted(tx: Any, result: Any, _: int, fence: Any) -> None:
    if result:
        _note(tx, "promote", None, None, fence.epoch, None)


def _fired(tx: Any, result: Any, schedule: str, at: int, _: int, fence: Any) -> None:
    if result is not None:
        _note(tx, "fire", None, None, fence.epoch, f"{schedule} {at}")


def _planned(tx: Any, _: Any, schedules: Any) -> None:
    if schedules:
        _note(tx, "plan", None, None, None, str(tx.now))


NOTED = {
    "plan": _planned,
    "claim": _claimed,
    "settle": _settled,
    "rescue": _rescued,
    "elect": _elected,
    "promote": _promoted,
    "fire": _fired,
    "finish": lambda *_: HISTORY.point("commit"),
}


def play(folder: Path, life: Life, where: Where, shift_ms: int, *, is_last: bool) -> None:
    """Live; returns when told to stop, or, the last one, when there is nothing left to do."""
    global HISTORY  # noqa: PLW0603 - one program
    HISTORY = History(folder, life)
    for name, note in NOTED.items():
        _noting(name, note)
    told: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: told.append(number))
    logging.getLogger("otpy").setLevel(logging.CRITICAL + 1)
    system = otpy.System(life.name, max_zombies=100)
    _engine(system, folder, where, shift_ms)
    _enqueue(system, folder, life, where, told)
    client, late = of(system), time.monotonic() + 4 * LEASE
    while not told:
        time.sleep(0.05)
        if is_last and _is_done(client, is_late=time.monotonic() > late):
            break
        if not is_last:
            _work_on(client, life, told)
    left = system.stop(timeout=10.0)
    HISTORY.say(stopped=[str(one) for one in left])


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


def _engine(system: otpy.System, folder: Path, where: Where, shift_ms: int) -> None:
    init = Engine.init

    def shifted(self: Engine, setup: Any) -> None:
        init(self, replace(setup, now=lambda: wall_clock() + shift_ms))

    Engine.init = shifted  # type: ignore[method-assign]
    Engine._open = lambda self: _opened(self.setup)  # type: ignore[method-assign]
    crews = [jobs.Crew(name=where.place, place=where.place), jobs.Crew(name="loop", place="loop")]
    apart = [jobs.Crew(name="process", place="process", size=2, spare=0)] if where.is_apart else []
    crons = [jobs.cron("* * * * *", TICK.new(name), id=name) for name in SCHEDULES]
    system.start(
        jobs.engine(
            folder / "jobs.db",
            [ACT, FEW, AACT, ONLY, TICK, *[DONE_APART] * where.is_apart],
            crews=crews + apart,
            queues=[jobs.Queue("few", limit=2)],
            cron=crons,
            profile=where.profile,
            lease=LEASE,
            poll=0.03,
        )
    )


def _opened(setup: Any) -> Store:
    store = Store(setup.path, profile=setup.profile, now=setup.now)
    store._db.execute(NOTES)
    return store


def _enqueue(system: otpy.System, folder: Path, life: Life, where: Where, told: list[int]) -> None:
    client, chance = of(system), random.Random(life.seed)
    for index in range(life.jobs):
        how = chance.choice(HOWS)
        kind = AACT if how == "coroutine" else chance.choice((ACT, FEW))
        key = f"{life.name}.{index}"
        spec = kind.new(index, how).opts(key=key, delay=chance.choice((0.0, 0.0, 0.1)))
        if where.is_apart and index % 2:
            spec = DONE_APART.new(str(folder), index, chance.choice(APART)).opts(key=key)
        HISTORY.say(asked=key)
        try:
            made = client.enqueue(spec)
        except otpy.errors.OtpyError as error:
            HISTORY.say(unknown=key, why=str(error))
        else:
            HISTORY.say(acked=key, id=made.id)
        if told:
            return
        with suppress(otpy.errors.OtpyError):
            made = client.enqueue(ONLY.new(index, how))
            HISTORY.say(only=f"only:{index % 2}", id=made.id)
        if index < life.kills:
            _kill_one(system, chance)


def _kill_one(system: otpy.System, chance: random.Random) -> None:
    agents = [one.path for one in system.records(limit=500) if "/agents/" in one.path]
    if agents:
        with suppress(otpy.errors.OtpyError):
            system.kill(chance.choice(agents))
