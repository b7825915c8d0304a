"""A program with an outbox that is killed again and again: `python outbox_kills.py FOLDER ROUNDS SEED`.

It loads otpy once; each round is a fork of it, made before any thread runs, that kills itself with SIGKILL when it has
come by a point for the n-th time: before and after a commit, in the middle of a sender, in the receiver's transaction,
before and after what is acknowledged goes. The last round is let live, and sends what is left.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from random import Random
from typing import Any

import otpy
from otpy.resilience import Outbox, received
from otpy.resilience.outbox.shelf import Shelf
from support.outboxes import Hub

KEYS = ("a", "b", "c")


class Points:
    """Counts down to the end."""

    def __init__(self, left: int) -> None:
        self.left = left
        self.lock = threading.Lock()

    def pass_by(self) -> None:
        with self.lock:
            self.left -= 1
            if self.left == 0:
                time.sleep(0.02)  # whoever has been answered says so
                os.kill(os.getpid(), signal.SIGKILL)


def watched(points: Points, function: Any) -> Any:
    def run(*args: Any, **kwargs: Any) -> Any:
        points.pass_by()
        result = function(*args, **kwargs)
        points.pass_by()
        return result

    return run


def play(folder: Path, number: int, points: Points, random: Random) -> None:
    hub = Hub(folder / "hub.db")
    calls = 0

    def post(batch: Any) -> None:
        nonlocal calls
        calls += 1
        points.pass_by()
        db = hub.connect()
        with received(db, batch) as fresh:
            for row in fresh:
                db.execute("insert into reading (agent, key, value) values ('', ?, ?)", (row.key, row.payload))
            points.pass_by()
        db.close()
        if random.random() < 0.3:
            raise ConnectionError("the answer was lost")

    Shelf.put = watched(points, Shelf.put)  # type: ignore[method-assign]
    Shelf.settle = watched(points, Shelf.settle)  # type: ignore[method-assign]
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
        is_last = number == rounds
        points = Points(0 if is_last else random.randrange(1, 60))
        pid = os.fork()
        if not pid:
            play(folder, number, points, Random(seed * 1_000 + number))
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        killed += code == -signal.SIGKILL
        if code not in (0, -signal.SIGKILL):
            sys.exit(f"round {number} ended with {code}")
    sys.stdout.write(f"{killed}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
