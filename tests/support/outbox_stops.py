"""Programs with an outbox that a platform stops: `python outbox_stops.py FOLDER`.

otpy is loaded once; each program is a fork, made before any thread runs. It says on a pipe when it is up, is sent its
signals, and its exit code and seconds are printed, a line for each.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import otpy
from otpy.resilience import Outbox, Sender
from support.outboxes import Hub, take

ROWS = 20
AGAIN = 2.0
"""Seconds between two signals: a second one that comes sooner is the first one's echo."""


def live(folder: Path, mood: str, shutdown: float, up: int) -> int:
    """Put rows that nobody takes before the program is told to stop; then as the mood is."""
    hub = Hub(folder / "hub.db")

    def post(batch: Any) -> None:
        if mood == "hangs":
            time.sleep(30.0)
        if mood == "away" or system.draining is None:
            raise ConnectionError("the hub is away")
        db = hub.connect()
        take(db, batch)
        db.close()

    pauses = otpy.Backoff(first=600.0, most=600.0)
    one = Outbox("o", folder / "o.db", senders=[Sender(post)], topics=["t"], agent="a", backoff=pauses)
    with otpy.run(one.child(), name="told", control="off", shutdown=shutdown) as system:
        if not one.look().rows:
            for value in range(ROWS):
                one.put("t", value)
        os.write(up, b".")
        system.wait()
    return 75 if system.left or system.undone else 0


def play(folder: Path, mood: str, signals: int, shutdown: float = 25.0) -> str:
    reads, writes = os.pipe()
    pid = os.fork()
    if not pid:
        code = 70
        try:
            code = live(folder, mood, shutdown, writes)
        finally:
            os._exit(code)
    os.read(reads, 1)
    begun = time.monotonic()
    for number in range(signals):
        time.sleep(AGAIN if number else 0.0)
        os.kill(pid, signal.SIGTERM)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return f"{mood} {signals} {code} {time.monotonic() - begun:.2f}\n"


def main(folder: Path) -> None:
    sys.stdout.write(play(folder, "away", 1))
    sys.stdout.write(play(folder, "hangs", 2))
    sys.stdout.write(play(folder, "well", 1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
