"""What a seed has happen to three programs and their server; then what must hold all the same."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import psycopg

from otpy.errors import OtpyError
from otpy.jobs.inside import enqueue_in

from .host import LEASE
from .stage import Stage
from .troubles import HOSTS, draw
from .works import ACT, ONLY, history

if TYPE_CHECKING:
    from .troubles import Trouble

__all__ = ["Storm"]

CUT = "select pg_terminate_backend(pid) from pg_stat_activity where application_name like %s"


class Storm(Stage):
    """Programs and the server are killed, and what else is drawn."""

    asleep: set[int]

    def trouble(self) -> None:
        """All that is drawn, at its time."""
        self.asleep = set()
        for trouble in draw(self.seed, self.seconds):
            self.until(trouble.at)
            self._make(trouble)
        self.until(self.seconds)

    def calm(self) -> None:
        """What was stopped goes on."""
        for pid in list(self.asleep):
            self._go_on(pid)
        self._start_server()
        self.sql("update chaos_slow set seconds = 0")

    def _make(self, trouble: Trouble) -> None:
        host = (self.leader() if trouble.leads else None) or trouble.host
        self.told[trouble.what] += 1
        pid = self.pid(host)
        match trouble.what:
            case "kill host" if pid is not None:
                os.kill(pid, signal.SIGKILL)
            case "stop host" if pid is not None and pid not in self.asleep:
                os.kill(pid, signal.SIGSTOP)
                self.asleep.add(pid)
                self.after(trouble.seconds, lambda: self._go_on(pid))
            case "kill server" if self.is_up:
                self.is_up = False
                self.server.kill()
                self.after(trouble.seconds, self._start_server)
            case "cut":
                whose = "" if trouble.host > HOSTS else f"h{host}-"
                self.sql(CUT, f"{whose}%.%")
            case "old transaction":
                self._leave_open(trouble.seconds)
            case "slow commits":
                self.sql("update chaos_slow set seconds = %s", LEASE / 5)
                self.after(trouble.seconds, lambda: self.sql("update chaos_slow set seconds = 0"))

    def _go_on(self, pid: int) -> None:
        if pid in self.asleep & self.pids.keys():
            self.asleep.discard(pid)
            os.kill(pid, signal.SIGCONT)

    def _start_server(self) -> None:
        if not self.is_up:
            self.server.start()
            self.is_up = True

    def _leave_open(self, seconds: float) -> None:
        """Somebody enqueues in a transaction, and leaves it open; the key of one is in others' way."""
        with suppress(psycopg.Error):
            db = psycopg.connect(self.server.url(), application_name="somebody.0")
            try:
                db.execute("set lock_timeout = 100")  # another one that is left open may have that key
                made = enqueue_in(db, ACT.new(0, "ok"), ONLY.new(0, "ok"))
            except OtpyError:
                db.close()
            else:
                self.after(seconds, lambda: self._commit(db, made[0].id))

    def _commit(self, db: Any, job: int) -> None:
        with suppress(psycopg.Error), db:
            db.commit()
            history().say(acked=None, id=job)
