"""Calls from program to program, by LISTEN and NOTIFY: a wake-up and nothing more, for one may be lost."""

from __future__ import annotations

import os
import random
import select
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import psycopg

from otpy.jobs.store.postgres.link import is_pooled

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CALL", "Listener"]

CHANNEL = "select 'otpy_' || md5(current_schema())"
CALL = "select pg_notify('otpy_' || md5(current_schema()), '')"
"""Heard by all who listen, when the transaction in which it is said is committed; once however often it is said."""

PAUSE = 5.0
"""Seconds, more or less, until a connection is tried again that was lost."""


class Listener:
    """Has a connection of its own, on a thread that sleeps until somebody calls."""

    def __init__(self, url: str, called: Callable[[], object], is_own: Callable[[int], bool] = lambda _: False) -> None:
        """Begin. That a connection cannot be had is no failure: one looks as well.

        Args:
            url: of the server.
            called: called on this thread when somebody calls.
            is_own: whether the server's process with this number is that of a connection of the same program, which
                has told itself.
        """
        self._url, self._called, self._is_own = url, called, is_own
        self._ends, self._end = os.pipe()
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._run, name="otpy-jobs-listener", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End, and wait for that. In a forked child there is no such thread."""
        os.close(self._end)
        if self._pid == os.getpid():
            self._thread.join()

    def _run(self) -> None:
        ready: list[int] = []
        while self._ends not in ready:
            with suppress(psycopg.Error):
                ready = self._listen()
            if self._ends not in ready:
                ready = _readable(self._ends, seconds=PAUSE * random.uniform(0.5, 1.0))
        os.close(self._ends)

    def _listen(self) -> list[int]:
        """Until it is to end, or the connection is gone, which is raised."""
        with psycopg.Connection[Any].connect(self._url, autocommit=True, fallback_application_name="otpy") as db:
            if not is_pooled(db):
                return self._hear(db)
        # There nothing would be heard, and whoever has that connection next would listen instead.
        return _readable(self._ends)

    def _hear(self, db: psycopg.Connection[Any]) -> list[int]:
        ((channel,),) = db.execute(CHANNEL).fetchall()
        db.execute(f"listen {channel}")
        self._called()  # what was said before
        while True:
            ready = _readable(db.fileno(), self._ends)
            if self._ends in ready:
                return ready
            db.pgconn.consume_input()
            others = False
            while (heard := db.pgconn.notifies()) is not None:
                others |= not self._is_own(heard.be_pid)
            if others:
                self._called()


def _readable(*files: int, seconds: float | None = None) -> list[int]:
    """Wait until something comes by one of these, and for so long at most; by which.

    By `poll`: a program with a thousand files open has numbers that are too high for `select`.
    """
    poll = select.poll()
    for file in files:
        poll.register(file, select.POLLIN)
    return [file for file, _ in poll.poll(None if seconds is None else seconds * 1_000)]
