"""Three programs share a name, and are killed and frozen beyond their lease; judged by what the store has kept."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import pytest

from support.postgres import fresh_url

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.stress

SEED = 20_261_130
SECONDS = 30.0
LEASE = 2.0

SOURCE = f"""
import sys
import otpy
from otpy import jobs


@jobs.job(name="note", queue="notes")
def note(epoch: int) -> None: ...


class Body(otpy.GenServer):
    def init(self, fence: jobs.Fence) -> None:
        self.fence = fence
        self.jobs = jobs.of(self.system).under(fence)
        self.send_interval(0.005, "write")

    def handle_info(self, message: object) -> None:
        self.jobs.enqueue(note.new(self.fence.epoch).opts(priority=self.fence.epoch))


class Town(otpy.Supervisor):
    max_restarts = 1_000

    def children(self) -> list[otpy.ChildSpec]:
        made = lambda fence: otpy.child(Body, fence).opts(shutdown=0.1)
        return [
            jobs.engine(sys.argv[1], [note], lease={LEASE}),
            jobs.singleton("billing", made, lease={LEASE}, max_restarts=1_000),
        ]


with otpy.run(Town, name="town", control="off") as system:
    jobs.of(system).pause("notes")
    system.wait()
"""


class Towns:
    """The programs."""

    def __init__(self, where: str, number: int) -> None:
        self.where = where
        self.processes = [self.begin() for _ in range(number)]

    def begin(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", SOURCE, self.where], stderr=subprocess.DEVNULL)

    def freeze(self, number: int, seconds: float) -> None:
        if self.processes[number].poll() is not None:  # it did not find the store in time
            self.processes[number] = self.begin()
        self.processes[number].send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.processes[number].send_signal(signal.SIGCONT)

    def kill(self, number: int) -> None:
        self.processes[number].kill()
        self.processes[number].wait()
        self.processes[number] = self.begin()

    def stop(self) -> None:
        for one in self.processes:
            one.terminate()
        for one in self.processes:
            with suppress(subprocess.TimeoutExpired):
                one.wait(20.0)
            one.kill()


@pytest.fixture(params=["file", "server"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "jobs.db") if request.param == "file" else fresh_url()


def rows(where: str) -> list[int]:
    """The epochs of what was kept, in its order."""
    text = "select priority from otpy_job order by id"
    if "://" not in where:
        with closing(sqlite3.connect(where)) as db:
            return [epoch for (epoch,) in db.execute(text)]
    psycopg: Any = pytest.importorskip("psycopg")
    with psycopg.connect(where) as db:
        return [epoch for (epoch,) in db.execute(text)]


@pytest.fixture
def towns(where: str) -> Iterator[Towns]:
    made = Towns(where, 3)
    yield made
    made.stop()


@pytest.mark.timeout(120)
def test_nothing_old_is_kept_after_something_newer(where: str, towns: Towns) -> None:
    chance = random.Random(SEED)
    time.sleep(2.0)
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        if chance.random() < 0.7:
            towns.freeze(chance.randrange(3), chance.uniform(0.2, 2 * LEASE))
        else:
            towns.kill(chance.randrange(3))
        time.sleep(chance.uniform(0.1, 0.5))
    time.sleep(2 * LEASE)
    towns.stop()
    epochs = rows(where)
    assert len(set(epochs)) > 3, f"seed {SEED}: {len(epochs)} jobs"
    assert epochs == sorted(epochs), f"seed {SEED}"
