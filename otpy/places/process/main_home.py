"""The main thread of a process child: it reads the pipe while its actor rests, and runs the actor's turns.

So a call costs one change of threads less. While a turn takes long, or waits for an answer, another thread reads: the
child hears exit signals and answers whatever its actor does.

What guards what: `_reading` is held by who reads the pipe. The second thread sleeps only while the main one holds it,
and is woken by the next turn; it takes it over after `LONG` seconds, and gives it back when it has woken the main one.
"""

from __future__ import annotations

import os
import select
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from otpy.places.thread import ThreadHome

if TYPE_CHECKING:
    from otpy.places.process.inside import Inside
    from otpy.runtime.ref import Ref
    from otpy.runtime.seat import Seat
    from otpy.runtime.system import System

__all__ = ["MainHome"]

LONG = 0.01
"""Seconds of a turn after which another thread reads the pipe."""
QUIET = 50
"""So many times `LONG` without a turn, and the second thread sleeps."""


class MainHome(ThreadHome):
    """The home of the child's actor: the main thread of the process."""

    def __init__(self, system: System, ref: Ref[Any], inside: Inside) -> None:
        """Wait for the first turn."""
        super().__init__(system, ref)
        self._inside = inside
        self._reading = threading.Lock()
        self._main = threading.get_ident()
        self._is_needed = threading.Event()  # cleared: the second thread sleeps
        self._has_asked = threading.Event()
        self._wake_fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._poll = select.poll()
        self._poll.register(inside.line.socket, select.POLLIN)
        self._poll.register(self._wake_fd, select.POLLIN)
        self._has_thread = True
        inside.line.on_wait = self._on_wait

    def engage(self) -> bool:
        """Wake the main thread, wherever it rests."""
        try:
            self.free.pop()
        except IndexError:
            return True
        self.seat.waiting = False
        self._parking.release()
        if threading.get_ident() != self._main:
            os.eventfd_write(self._wake_fd, 1)
        return True

    def serve(self) -> None:
        """Run the actor's turns, in the main thread, until it has ended."""
        threading.Thread(target=self._stand_by, name="otpy-pipe", daemon=True).start()
        self._parking.acquire()
        self._run()

    def _give_turn(self, ref: Ref[Any], seat: Seat) -> None:
        if not self._is_needed.is_set():
            self._is_needed.set()
        super()._give_turn(ref, seat)

    def _park(self) -> None:
        """Read the pipe until woken; or merely wait, while the second thread reads it."""
        if not self._reading.acquire(blocking=False):
            super()._park()
            return
        try:
            while not self._parking.acquire(blocking=False):
                self._read()
        finally:
            self._reading.release()

    def _read(self) -> None:
        for fd, _ in self._poll.poll():
            if fd == self._wake_fd:
                with suppress(BlockingIOError):
                    os.eventfd_read(fd)
            else:
                self._inside.read()

    def _on_wait(self) -> None:
        """The actor is about to wait for an answer: somebody has to read it."""
        if threading.get_ident() == self._main:
            self._has_asked.set()
            self._is_needed.set()

    def _stand_by(self) -> None:
        """The second thread: read while the main one cannot."""
        quiet = 0
        while True:
            self._is_needed.wait()
            before = self.seat.turns
            self._has_asked.wait(LONG)
            has_asked = self._has_asked.is_set()
            self._has_asked.clear()
            if not has_asked and before != self.seat.turns:
                quiet = 0
                continue
            if self._reading.acquire(blocking=False):
                self._read_for_main()
                quiet = 0
                continue
            quiet += 1
            if quiet > QUIET:
                self._doze(before)

    def _read_for_main(self) -> None:
        try:
            while True:
                self._inside.read()
                if not self.free:  # it has been woken, or is still busy, and then this thread is soon back here
                    return
        finally:
            self._reading.release()

    def _doze(self, before: int) -> None:
        """Sleep until the next turn."""
        self._is_needed.clear()
        if before != self.seat.turns or not self._reading.locked():  # cleared, then looked; a turn counts, then sets
            self._is_needed.set()
