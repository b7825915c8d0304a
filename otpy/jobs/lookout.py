"""The lookout: what other programs have written, and where the scheduler of this one may find work because of that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.actors.gen_server import GenServer
from otpy.errors import CallError
from otpy.jobs.alarm import Alarm
from otpy.jobs.errors import StoreError
from otpy.jobs.scheduler.scheduler import Scheduler
from otpy.jobs.submitted import store_failed
from otpy.jobs.writer import Writer
from otpy.runtime.request import cast

if TYPE_CHECKING:
    from otpy.jobs.setup import Setup
    from otpy.jobs.store.protocol import Transaction
    from otpy.runtime.ref import Ref

__all__ = ["Lookout"]

SOON = 0.01
"""Seconds after a call until one looks: the scheduler has asked at once, and its claim must not wait for the look. One
answers all calls of that time."""
LAZY = 20
"""In virtual time, in which nobody waits, so many looks that find nothing new make each further one later."""


class Round:
    """What there is for a scheduler, in the writer's thread."""

    def __init__(self) -> None:
        """Not done yet."""
        self.ready: set[str] = set()
        self.paused: set[str] = set()
        self.cancelled: list[tuple[int, int]] = []
        self.active: str | None = None

    def __call__(self, tx: Transaction) -> None:
        """Do it."""
        self.ready, self.paused, self.cancelled = tx.ready(), set(tx.paused()), tx.cancelled()
        self.active = tx.active()


class Lookout(GenServer):
    """Beside each scheduler: it asks every `poll` seconds whether others have written, and soon after a call.

    Of one call after the other, as when another program enqueues by the thousand, one look is on its way at a time. A
    failure of the store is waited out in here.
    """

    otpy_is_errand = True

    def init(self, setup: Setup) -> None:
        """Look at once: what was written since the scheduler looked is news."""
        self.setup = setup
        self.writer = self.system.ref(setup.actor(Writer, "writer"))
        self.scheduler = self.system.ref(setup.actor(Scheduler, "scheduler"))
        self.active: str | None = None
        self._poll, self._idle, self._seen = setup.poll, 0, -1
        self._is_busy = self._is_wanted = self._is_called = False
        self._alarm = Alarm(self, "news")
        self.ref.tell("poll")

    def handle_info(self, message: object) -> None:
        """The time has come, or another program has made something ready."""
        match message:
            case "poll":
                self._look_around()
            case "called" if not self._is_called:
                self._is_called = True
                self.send_after(SOON, "news")
            case "news":
                self._is_called = False
                self._look()

    @cast
    def looked(self, done: Round, error: Exception | None) -> None:
        """Tell the scheduler."""
        self._is_busy = False
        if store_failed(error):
            self._alarm.set_again()
            return
        if done.paused:
            self.scheduler.cast(Scheduler.pause, done.paused)
        if done.ready:
            self.scheduler.cast(Scheduler.hope, done.ready)
        if done.cancelled:
            self.scheduler.cast(Scheduler.cancel, done.cancelled)
        if done.active != self.active:  # other programs are to lead, and to do what belongs to no version
            self.active = done.active
            self._tell("leader", "membership")
        if self._is_wanted:
            self._look()

    def _look(self) -> None:
        if self._is_busy:
            self._is_wanted = True
            return
        self._is_busy, self._is_wanted = True, False
        done, own = Round(), self.ref
        self.writer.cast(Writer.submit, done, lambda error: own.cast(Lookout.looked, done, error))

    def _look_around(self) -> None:
        """Whether others have written anything: a job, a time, or a schedule."""
        try:
            seen = self.writer.within(None).call(Writer.changes)
        except (StoreError, CallError):  # who writes may have ended, and then all of this does
            seen = self._seen
        if seen != self._seen:
            if self._seen >= 0:  # who leads has looked when it began
                self._tell("janitor", "timekeeper")
            self._poll, self._idle, self._seen = self.setup.poll, 0, seen
            self._look()
        else:
            self._idle += 1
            if self._idle > LAZY and self.system.is_virtual:
                self._poll = max(self.setup.poll, min(2 * self._poll, self.setup.lease / 10))
        self.send_after(self._poll, "poll")

    def _tell(self, *roles: str) -> None:
        """Have those of them look that there are in this program."""
        for role in roles:
            there: Ref[Any] | None = self.system.ref(f"{self.setup.name}/{role}").whereis()
            if there is not None:
                there.tell("look")
