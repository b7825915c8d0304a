"""A receiver that is killed again and again, and lies, while an outbox sends: `python receiver_kills.py FOLDER N SEED`.

The receiver is a process of its own behind a socket. Each of N kills itself with SIGKILL when it has come by a point
for the n-th time: when it is called, in the middle of the transaction, before it acknowledges what it has taken; some
answers it gives to nobody. The one after them is let live. Who sends is one process that lives through all of it.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any

import otpy
from otpy.resilience import Batch, Breaker, Outbox, Sender, received
from support.outboxes import Hub

ROWS = 120
KEYS = ("a", "b", "c")
GIVE_UP = 60.0
"""Seconds after which a sender that gets nowhere ends; only a failing test waits so long."""


def receive(folder: Path, left: int, random: Random) -> None:
    """Be the receiver until it has come by so many points; 0: for ever."""

    def pass_by() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    with suppress(FileNotFoundError):
        (folder / "socket").unlink()
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(folder / "socket"))
    server.listen(64)
    db = Hub(folder / "hub.db").connect()
    while True:
        line, _ = server.accept()
        with closing(line), suppress(OSError):
            batch = Batch.unpack(line.makefile("rb").read())
            pass_by()
            with received(db, batch) as fresh:
                for row in fresh:
                    db.execute("insert into reading (agent, key, value) values ('', ?, ?)", (row.key, row.payload))
                    pass_by()
            pass_by()
            if random.random() > 0.2:  # else it says nothing
                line.sendall(b"taken")


def post(folder: Path, batch: Batch) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as line:
        line.settimeout(10.0)
        line.connect(str(folder / "socket"))
        line.sendall(batch.pack())
        line.shutdown(socket.SHUT_WR)
        if line.recv(5) != b"taken":
            raise ConnectionError("no answer")


def send(folder: Path) -> None:
    """Put rows, and see all of them taken."""
    breaker = Breaker("post", failures=3, cooldown=0.005, longest=0.02)
    sender: Any = Sender(lambda batch: post(folder, batch), breaker=breaker)
    pauses = otpy.Backoff(first=0.001, most=0.01)
    one = Outbox("o", folder / "o.db", senders=[sender], topics=["t"], agent="a", batch=7, ramp=0.0, backoff=pauses)
    system = otpy.System("sending")
    system.start(breaker.child())
    system.start(one.child())
    for value in range(ROWS):
        for key in KEYS:
            one.put("t", value, key=key)
    one.flush(GIVE_UP)
    system.stop()


def forked(function: Any, *args: Any) -> int:
    pid = os.fork()
    if not pid:
        code = 1
        try:
            function(*args)
            code = 0
        finally:
            os._exit(code)
    return pid


def main(folder: Path, kills: int, seed: int) -> None:
    random = Random(seed)
    sender = forked(send, folder)
    killed = -1
    ended = 0
    while ended != sender:
        killed += 1
        left = random.randrange(1, 40) if killed < kills else 0
        receiver = forked(receive, folder, left, Random(seed * 1_000 + killed))
        ended, status = os.waitpid(-1, 0)  # whoever is first
    os.kill(receiver, signal.SIGKILL)
    os.waitpid(receiver, 0)
    sys.stdout.write(f"{killed} {os.waitstatus_to_exitcode(status)}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
