"""The thread of an exploration's event loops: one for a pool, kept from run to run."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from otpy.runtime.seat import Seat, Slot

if TYPE_CHECKING:
    from otpy.testing.loop import SeededLoop, Strand
    from otpy.testing.pool import SeededPool

__all__ = ["LoopThread"]

THREAD_END = 5.0
"""Real seconds in which the thread must have ended."""


class LoopThread(Seat):
    """A thread of a seeded pool that runs the steps of event loops, each when it is handed the token for it."""

    __slots__ = ("_go_on", "_loop", "_thread", "next", "rest")

    def __init__(self, pool: SeededPool) -> None:
        """Start with the first step."""
        super().__init__()
        self.pool = pool
        self._go_on = pool.pass_on
        self.rest = Slot(self)
        """Where it waits for its next step."""
        self.next: Strand | None = None
        """What has been drawn; nothing when the thread is to end."""
        self.waiting = True
        self._loop: SeededLoop | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Have a thread."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="otpy-seeded-loop", daemon=True)
            self._thread.start()

    def retire(self) -> None:
        """End the thread, unless it is stuck in an actor's code."""
        if self._thread is not None and self.waiting:
            self.rest.lock.release()
            self._thread.join(THREAD_END)

    def _run(self) -> None:
        while True:
            self.rest.lock.acquire()
            strand, self.next = self.next, None
            if strand is None:
                return
            if strand.loop is not self._loop:
                self._loop = strand.loop
                strand.loop.enter()
            strand.loop.step(strand)
            strand = None  # what it ran must be able to go
            self.waiting = True
            self._go_on(self, self.rest)
