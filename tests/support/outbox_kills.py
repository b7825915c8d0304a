"""A program with an outbox that is killed again and again: `python outbox_kills.py FOLDER ROUNDS SEED`.

It loads otpy once; each round is a fork of it, made before any thread runs, that is killed by a fault at one of the
points, when it comes there for the n-th time: before and after a commit, also one by which what is acknowledged goes,
before and after a sender, in the receiver's transaction. The last round is let live, and sends what is left.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from random import Random
from typing import Any

import otpy
from otpy.resilience import Outbox, received
from otpy.testing import faults
from support.outboxes import Hub

KEYS = ("a", "b", "c")
POINTS = ("outbox.commit.before", "outbox.commit.after", "outbox.send.before", "outbox.send.after", "hub.taken")


def play(folder: Path, number: int, random: Random) -> None:
    hub = Hub(folder / "hub.db")

    def post(batch: Any) -> None:
        db = hub.connect()
        with received(db, batch) as fresh:
            for row in fresh:
                db.execute("insert into reading (agent, key, value) values ('', ?, ?)", (row.key, row.payload))
            faults.point("hub.taken")
        db.close()
        if random.random() < 0.2:
            raise ConnectionError("the answer was lost")

    backoff = otpy.Backoff(first=0.001, most=0.01)
    one = Outbox("o", folder / "o.db", senders=[post], topics=["t"], agent="a", batch=7, ramp=0.0, backoff=backoff)
    system = otpy.System("killed")
    system.start(one.child())
    log = os.open(folder / "returned", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def produce(key: str) -> None:
        for each in range(40):
            value = number * 1_000 + each
            one.put("t", value, key=key)
            os.write(log, f"{key} {value}\n".encode())

    threads = [threading.Thread(target=produce, args=(key,)) for key in KEYS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    one.flush(60.0)
    system.stop()


def main(folder: Path, rounds: int, seed: int) -> None:
    random = Random(seed)
    killed = 0
    for number in range(1, rounds + 1):
        script = faults.Script()
        if number < rounds:
            script.at(random.choice(POINTS), faults.kill(), after=random.randrange(12))
        pid = os.fork()
        if not pid:
            with faults.armed(script):
                play(folder, number, Random(seed * 1_000 + number))
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        killed += code == -signal.SIGKILL
        if code not in (0, -signal.SIGKILL):
            sys.exit(f"round {number} ended with {code}")
    sys.stdout.write(f"{killed}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
