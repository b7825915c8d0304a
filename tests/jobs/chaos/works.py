"""What the jobs of programs in chaos do, in all the ways to go wrong, and how such a program has them done.

What they do, and what their programs hear, goes into a file of history, line by line.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import otpy
from otpy import jobs

from .plan import APART, HOWS, Life

if TYPE_CHECKING:
    from otpy.core.spec import ChildSpec

    from .plan import Where

__all__ = [
    "ACT",
    "EXIT_STATUS",
    "LIMITS",
    "ONLY",
    "SCHEDULES",
    "TICK",
    "Asking",
    "begin",
    "engine",
    "history",
    "kill_one",
]

RETRY = jobs.Retry(errors=4, backoff=otpy.Backoff(first=0.02, most=0.1))
TIMEOUT = 0.4
SCHEDULES = ("x", "y")
LIMITS = {"few": 2}
"""Jobs of a queue that may run at once."""
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


def begin(folder: Path, life: Life) -> None:
    """Be this life from now on."""
    global HISTORY  # noqa: PLW0603 - one program
    HISTORY = History(folder, life)


def history() -> History:
    """That of this program."""
    return HISTORY


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


def long(number: int, how: str) -> object:
    """The same after a second."""
    time.sleep(1.0)
    return act(number, how)


async def aact(number: int, how: str) -> object:
    """The same on the loop."""
    return act(number, how)


def apart(folder: str, number: int, how: str) -> object:
    """The same in a process of its own, where nothing is but what it is given."""
    begin(Path(folder), Life("apart", 0, 0, 0, None))
    return act(number, how)


def tick(name: str) -> None:
    """What schedules do, and who exists once has done."""
    me = jobs.current()
    HISTORY.say(begin=me.id, token=me.token, how=name)
    HISTORY.say(effect=me.id, token=me.token)


DONE_APART: Any = jobs.job(retry=RETRY, timeout=2 * TIMEOUT, killable=True)(apart)
ACT: Any = jobs.job(retry=RETRY, timeout=TIMEOUT)(act)
FEW: Any = jobs.job(name="few", queue="few", retry=RETRY, timeout=TIMEOUT)(act)
LONG: Any = jobs.job(name="long", retry=RETRY, timeout=5.0)(long)
AACT: Any = jobs.job(retry=RETRY, timeout=TIMEOUT)(aact)
ONLY: Any = jobs.job(name="only", retry=RETRY, timeout=TIMEOUT, unique=lambda number, _: str(number % 2))(act)
STAMP: Any = jobs.job(name="stamp", retry=RETRY, timeout=TIMEOUT)(tick)
TICK: Any = jobs.job(retry=RETRY, timeout=TIMEOUT)(tick)


def engine(path: Path | str, where: Where, **options: Any) -> ChildSpec:
    """That of a program; all of them have the same, so that each can do what another one has enqueued."""
    crews = [jobs.Crew(name=where.place, place=where.place), jobs.Crew(name="loop", place="loop")]
    apart = [jobs.Crew(name="process", place="process", size=where.apart, spare=0)] if where.apart else []
    return jobs.engine(
        path,
        [ACT, FEW, LONG, AACT, ONLY, STAMP, TICK, *[DONE_APART] * bool(where.apart)],
        crews=crews + apart,
        queues=[jobs.Queue(name, limit=limit) for name, limit in LIMITS.items()],
        cron=[jobs.cron("* * * * *", TICK.new(name), id=name) for name in SCHEDULES],
        profile=where.profile,
        **options,
    )


class Asking:
    """Who enqueues, and writes down what was acknowledged."""

    def __init__(self, client: jobs.Client, folder: Path, life: Life, where: Where) -> None:
        """In this life."""
        self.client, self.folder, self.life, self.where = client, folder, life, where
        self.chance = random.Random(life.seed)
        self.number = 0

    def ask(self) -> str:
        """Enqueue one, with a key of its own; what it is to do."""
        index, self.number = self.number, self.number + 1
        how = self._how(HOWS)
        kind = AACT if how == "coroutine" else self.chance.choice((ACT, FEW))
        key = f"{self.life.name}.{index}"
        spec = kind.new(index, how).opts(key=key, delay=self.chance.choice((0.0, 0.0, 0.1)))
        if self.where.apart and index % self.where.one_of == 1:
            spec = DONE_APART.new(str(self.folder), index, self._how(APART)).opts(key=key)
        elif self.where.long > self.chance.random():
            spec = LONG.new(index, how).opts(key=key)
        HISTORY.say(asked=key)
        try:
            made = self.client.enqueue(spec)
        except otpy.errors.OtpyError as error:
            HISTORY.say(unknown=key, why=str(error))
        else:
            HISTORY.say(acked=key, id=made.id)
        return how

    def _how(self, ways: tuple[str, ...]) -> str:
        return self.chance.choice([way for way in ways if way not in self.where.without])

    def ask_for_the_only(self, how: str) -> None:
        """Enqueue one that may be there already: one of two."""
        index = self.number
        with suppress(otpy.errors.OtpyError):
            made = self.client.enqueue(ONLY.new(index, how))
            HISTORY.say(only=f"only:{index % 2}", id=made.id)


def kill_one(system: otpy.System, chance: random.Random) -> None:
    """Kill an agent."""
    agents = [one.path for one in system.records(limit=500) if "/agents/" in one.path]
    if agents:
        with suppress(otpy.errors.OtpyError):
            system.kill(chance.choice(agents))
