"""A program as a service: what it tells the service manager that has started it, as systemd with `Type=notify`.

On a thread of its own, which is there only when a manager listens: it reads what is published, and so goes on telling
while all workers are stuck; that the program lives it tells as long as that is so.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from otpy.health.alive import STALLED_AFTER, liveness
from otpy.health.notify import Post, in_microseconds, manager_in, taken_from
from otpy.health.ready import readiness
from otpy.runtime.seat import take_lock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.app.application import Application
    from otpy.health.notify import Manager

__all__ = ["Service", "service"]

log = logging.getLogger("otpy")

TICK = 5.0
"""Seconds between two words, at most, so that the status is never older."""
LEAST = 0.05
"""Seconds between two words, at least, whatever a manager wants."""
PATIENCE = 3
"""So many ticks a manager waits for the next word of a program that is stopping."""
LAST = 1.0
"""Seconds for the end of the thread, which waits for nothing."""


@contextmanager
def service(system: Application) -> Iterator[Service]:
    """Tell the manager that the environment names, if any, of a program; the variables are taken from its children."""
    taken = taken_from(os.environ)
    manager = manager_in(taken, os.getpid())
    made = Service(system, manager)
    try:
        made.begin()
        yield made
    finally:
        made.close()
        for name, value in taken.items():  # for a later block of the same process
            os.environ.setdefault(name, value)


class Service:
    """What is told of one program."""

    def __init__(self, system: Application, manager: Manager | None) -> None:
        """Tell nothing yet, and never anything when nobody listens."""
        self._system = system
        self._manager = manager
        self._bell = take_lock()  # free while there is something to tell; it may ring in a signal handler
        self._thread: threading.Thread | None = None
        self._is_up = self._is_stopping = self._is_closed = False
        self._told: set[str] = set()
        self._status = ""
        self._stops_by: float | None = None

    def begin(self) -> None:
        """Start the thread, when somebody listens."""
        if self._manager is None:
            return
        self._system.when_told(self.ring)
        thread = threading.Thread(target=self._run, args=(self._manager,), name="otpy-notify", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            log.warning("%s cannot tell its service manager anything: %s", self._system.name, error)
        else:
            self._thread = thread

    def ready(self) -> None:
        """The tree is up."""
        self._is_up = True
        self.ring()

    def stopping(self) -> None:
        """The tree is about to be stopped."""
        self._is_stopping = True
        self.ring()

    def close(self) -> None:
        """Tell no more."""
        self._is_closed = True
        self.ring()
        if self._thread is not None:
            self._thread.join(LAST)

    def ring(self) -> None:
        """Have the thread look; from any thread or signal handler."""
        with suppress(RuntimeError):  # it rings already
            self._bell.release()

    def _run(self, manager: Manager) -> None:
        post = Post(manager.address)
        tick = TICK if manager.watchdog is None else max(LEAST, min(TICK, manager.watchdog / 2))
        try:
            while not self._is_closed:
                try:
                    self._tell(post, manager, tick)
                except Exception:  # it must go on: a manager that hears nothing more ends the program
                    log.exception("%s could not tell its service manager how it stands", self._system.name)
                self._bell.acquire(timeout=tick)
            self._tell_state(post, stops=self._stops())  # what was done in between, as in a program that is short
        finally:
            post.close()

    def _tell(self, post: Post, manager: Manager, tick: float) -> None:
        left = self._time_left()  # first: what is said next fits it
        self._tell_state(post, stops=left is not None)
        live = liveness(self._system, stalled_after=max(STALLED_AFTER, manager.watchdog or 0.0)).problem
        if live is None and manager.watchdog is not None:
            post.say(WATCHDOG=1)
        if left is not None and left > 0:
            post.say(EXTEND_TIMEOUT_USEC=in_microseconds(PATIENCE * tick))
        status = self._words(live, left)
        if status != self._status and post.say(STATUS=status):
            self._status = status

    def _tell_state(self, post: Post, *, stops: bool) -> None:
        """Say what was not heard yet; again at the next tick when the manager takes nothing now."""
        for word, is_so in (("READY", self._is_up), ("STOPPING", stops)):
            if is_so and word not in self._told and post.say(**{word: 1}):
                self._told.add(word)

    def _stops(self) -> bool:
        return self._is_stopping or self._system.is_told

    def _time_left(self) -> float | None:
        """Seconds in which the program is to have stopped; None while it does not stop."""
        if not self._stops():
            return None
        draining = self._system.draining
        if draining is not None:
            return draining.deadline - self._system.clock.now()
        if self._stops_by is None:  # its root has ended, and the block goes on
            self._stops_by = time.monotonic() + self._system.shutdown
        return self._stops_by - time.monotonic()

    def _words(self, live: str | None, left: float | None) -> str:
        name = self._system.name
        if live is not None:
            return f"{name} is not live: {live}"
        if left is not None:
            return f"{name} {self._end_words(left)}"
        if "READY" not in self._told:  # the manager hears that first, also of a tree that is up by now
            return f"{name} starts"
        problem = readiness(self._system).problem
        return f"{name} runs" if problem is None else f"{name} is not ready: {problem}"

    def _end_words(self, left: float) -> str:
        if left <= 0:
            return "is late in stopping"
        draining = self._system.draining
        doing = "stops" if draining is None else f"drains ({draining.reason})"
        return f"{doing}, {left:.0f} s left"
