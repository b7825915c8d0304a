"""A program that is killed where it hurts most: what its jobs wrote is there once, with their end, or not at all."""

from __future__ import annotations

import signal
import sqlite3
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from support import forked

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

SOURCE = """
import os
import signal
import sys

import otpy
from otpy import jobs
from otpy.jobs.setup import Setup

Setup.loan_seconds = 20.0  # with so short a lease it would be a moment, and who is slow would begin anew


def die(where: str, at: str) -> None:
    if where == at and not os.path.exists("killed"):
        open("killed", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)


@jobs.job(name="sell")
def sell(where: str) -> None:
    die(where, "before")
    with jobs.current().tx() as tx:
        tx.execute("insert into sale (token) values (?)", (jobs.current().token,))
        tx.enqueue(sent.new())
        die(where, "inside")
    die(where, "after")


@jobs.job(name="sent")
def sent() -> None: ...


@jobs.job(name="ping", early_ack=True)
def ping(where: str) -> None:
    with open("pings", "a") as file:
        file.write("ping\\n")
    die(where, "after")


if __name__ == "__main__":
    with otpy.run(jobs.engine("shop.db", [sell, sent, ping], lease=1.0), name="killed", control="off") as system:
        client = jobs.of(system)
        spec = {"sell": sell, "ping": ping}[sys.argv[1]].new(sys.argv[2])
        job = client.wait(client.enqueue(spec.opts(key="the one")).id, 30.0)
        for other in client.find():
            client.wait(other.id, 30.0)
        print(job.state, job.token)
"""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "shop.py").write_text(SOURCE)
    return forked.run([sys.executable, "shop.py", *words], cwd=folder, text=True, timeout=50)


@pytest.mark.parametrize(("where", "token"), [("before", 2), ("inside", 2), ("after", 1)])
def test_what_a_job_has_written_is_there_once_wherever_its_program_was_killed(
    tmp_path: Path, where: str, token: int
) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db:
        db.execute("create table sale (token integer)")
    assert run(tmp_path, "sell", where).returncode == -signal.SIGKILL
    again = run(tmp_path, "sell", where)
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db:
        ((written,),) = db.execute("select token from sale").fetchall()
        assert written == token or written > token > 1  # more where a slow machine has let the lease run out
        assert again.stdout == f"done {written}\n", again.stderr
        assert db.execute("select kind, state from otpy_job").fetchall() == [("sell", "done"), ("sent", "done")]


def test_what_is_acknowledged_early_is_lost_and_not_done_again(tmp_path: Path) -> None:
    assert run(tmp_path, "ping", "after").returncode == -signal.SIGKILL
    again = run(tmp_path, "ping", "after")
    assert again.stdout == "done 1\n", again.stderr
    assert (tmp_path / "pings").read_text() == "ping\n"
