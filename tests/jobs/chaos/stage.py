"""Three programs on one server, begun again whenever they end; and what is seen of them when all is over."""

from __future__ import annotations

import heapq
import os
import shutil
import signal
import tempfile
import time
from abc import ABC, abstractmethod
from collections import Counter
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from otpy.jobs.store.postgres import session
from otpy.jobs.store.postgres.store import PostgresStore

from .check import judge, lines_of
from .history import of_server, on_server
from .host import CALM, NO_SERVER, lease_of, live, shift
from .law import MINUTE_MS
from .lives import fork, left_behind, tell_stacks
from .plan import Life, Where
from .troubles import HOSTS
from .works import EXIT_STATUS, SCHEDULES, begin

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.postgres import Server

    from .steps import Step

__all__ = ["Stage", "play"]

BEFORE_CRON = 2.5
"""Seconds from the beginning to the time of the schedules."""
AGAIN = 0.3
"""Seconds after which a program that has ended is started again."""
PATIENCE = 60.0
"""Seconds that everything may take to end when faults have."""
STOPPING = 20.0
"""Seconds that programs may take to stop."""
ENDS = {EXIT_STATUS: "ended by a job", NO_SERVER: "found no server", -signal.SIGKILL: "killed", 0: "told to stop"}


class Stage(ABC):
    """One run. Its process has no other children."""

    def __init__(self, seed: int, seconds: float, folder: Path, server: Server) -> None:
        """In this folder, and on a server that is nobody else's."""
        self.seed, self.seconds, self.folder, self.server = seed, seconds, folder, server
        self.where = Where("full", "pool", apart=1, one_of=8, long=0.2, without=("loop", "for ever"))
        self.pids: dict[int, int] = {}
        self.numbers = count()
        self.later: list[tuple[float, int, Callable[[], None]]] = []
        self.is_up, self.is_over = True, False
        self.found: list[str] = []
        self.told: Counter[str] = Counter()
        self.began = 0.0

    def run(self) -> list[str]:
        """All that is wrong afterwards."""
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        try:
            self._prepare()
            for host in range(1, HOSTS + 1):
                self._start(host)
            self.trouble()
            self.calm()
            calm_at = self._settle()
        finally:
            self._kill_all()
        return [*self.found, *self._judge(calm_at), *left_behind(self.folder)]

    @abstractmethod
    def trouble(self) -> None:
        """Have happen what is to happen."""

    @abstractmethod
    def calm(self) -> None:
        """End it."""

    def live(self, host: int, life: Life) -> int:
        """What a program does, in its own process."""
        return live(self.folder, life, self.where, self.server.url(), lease_of(host))

    def judge(self, steps: list[Step]) -> list[str]:
        """What is wrong besides."""
        return []

    def _prepare(self) -> None:
        """The tables, their history, and a clock by which a minute ends soon."""
        PostgresStore(self.server.url()).close()
        now = time.time_ns() // 1_000_000
        shift_ms = MINUTE_MS - now % MINUTE_MS - round(BEFORE_CRON * 1_000)
        shift(shift_ms)
        with psycopg.connect(self.server.url()) as db:
            on_server(db, shift_ms)
        begin(self.folder, Life("storm", 0, 0, 0, None))
        self.began = time.monotonic()

    # Programs.

    def _start(self, host: int) -> None:
        number = next(self.numbers)
        life = Life(f"h{host}-{number}", self.seed * 1_000 + number, 0, 0, None)
        self.pids[fork(self.folder, life.name, lambda: self.live(host, life))] = host

    def pid(self, host: int) -> int | None:
        """Of its program, if that runs."""
        return next((pid for pid, one in self.pids.items() if one == host), None)

    def until(self, at: float) -> None:
        """Let so many seconds have passed since the beginning, with all that is to happen by then."""
        while (left := self.began + at - time.monotonic()) > 0:
            if self.later:
                left = max(0.0, min(left, self.later[0][0] - time.monotonic()))
            signal.sigtimedwait({signal.SIGCHLD}, left)
            self._reap()
            while self.later and self.later[0][0] <= time.monotonic():
                heapq.heappop(self.later)[2]()

    def wait(self, seconds: float) -> None:
        """The same from now on."""
        self.until(time.monotonic() - self.began + seconds)

    def after(self, seconds: float, do: Callable[[], None]) -> None:
        """Do it then."""
        heapq.heappush(self.later, (time.monotonic() + seconds, next(self.numbers), do))

    def _reap(self) -> None:
        while self.pids:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            self._ended(pid, os.waitstatus_to_exitcode(status))

    def _ended(self, pid: int, code: int) -> None:
        """It is started again, as by any system that cares for services."""
        host = self.pids.pop(pid)
        self.told[ENDS.get(code, "failed")] += 1
        if code not in ENDS or (code == 0 and not self.is_over):
            self.found.append(f"the program of host {host} ended with {code}")
        if not self.is_over:
            self.after(AGAIN, lambda: self._start(host))

    def leader(self) -> int | None:
        """The host that leads, as the store has it."""
        rows = self.sql("select owner from otpy_term")
        pid = int(rows[0][0].split(":")[-2]) if rows else None
        return self.pids.get(pid) if pid else None

    def sql(self, text: str, *values: object) -> list[Any]:
        """Nothing while the server is down."""
        if not self.is_up:
            return []
        with psycopg.connect(self.server.url(), autocommit=True) as db:
            rows = db.execute(text, values)
            return rows.fetchall() if rows.description else []

    # The end.

    def _settle(self) -> int:
        """Let everything come to an end; when they had."""
        (self.folder / CALM).touch()
        ((calm_at,),) = self.sql(f"select {session.CLOCK}")
        until = time.monotonic() + PATIENCE
        while not self._is_done(calm_at) and not self.found:
            self.wait(0.2)
            if time.monotonic() > until:
                tell_stacks(self.pids)
                self.found.append(f"I10: the programs go on for {PATIENCE:g} s")
        self._stop()
        return int(calm_at)

    def _is_done(self, calm_at: int) -> bool:
        ((left,),) = self.sql("select count(*) from otpy_job where state in ('scheduled', 'ready', 'running')")
        text = "select count(*) from otpy_schedule where fired_at >= %s"
        ((fired,),) = self.sql(text, calm_at // MINUTE_MS * MINUTE_MS)
        return not self.later and len(self.pids) == HOSTS and not left and fired == len(SCHEDULES)

    def _stop(self) -> None:
        """All at once: each is to stop in good order, whatever it has been through."""
        self.is_over = True
        for pid in self.pids:
            os.kill(pid, signal.SIGTERM)
        until = time.monotonic() + STOPPING
        while self.pids and time.monotonic() < until:
            self.wait(0.2)
        if self.pids:
            tell_stacks(self.pids)
            self.found.append(f"the programs of {sorted(self.pids.values())} do not stop")

    def _kill_all(self) -> None:
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def _judge(self, calm_at: int) -> list[str]:
        with psycopg.connect(self.server.url()) as db:
            steps, rows = of_server(db), dict(db.execute("select id, state from otpy_job").fetchall())
            tally = {(queue, state): number for queue, state, number in db.execute("select * from otpy_tally")}
        self.told["changes of rows"] = len(steps)
        self.told["jobs"] = len(rows)
        self.told["leaders"] = sum(step.what == "term" for step in steps)
        return [*judge(steps, lines_of(self.folder), rows, tally, calm_at), *self.judge(steps)]


def play(make: Callable[[Path], Stage], keep: Path | None = None) -> tuple[list[str], Counter[str]]:
    """A run: all that is wrong afterwards, and what has happened."""
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    stage = make(folder)
    try:
        found = stage.run()
    finally:
        stage.server.remove()
    if found and keep is not None:
        shutil.copytree(folder, keep / str(stage.seed), dirs_exist_ok=True)
    shutil.rmtree(folder)
    return found, stage.told
