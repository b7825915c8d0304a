"""The timekeeper: it enqueues the jobs of all schedules when their time has come. One of the leader's duties."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.actors.gen_server import GenServer
from otpy.errors import SpecError
from otpy.jobs.alarm import Alarm
from otpy.jobs.cron import due, following
from otpy.jobs.scheduler.scheduler import Scheduler
from otpy.jobs.submitted import store_failed
from otpy.jobs.writer import Writer
from otpy.runtime.request import cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.jobs.model.job import Job
    from otpy.jobs.model.lead import Fence
    from otpy.jobs.model.schedule import Schedule
    from otpy.jobs.setup import Setup
    from otpy.jobs.store.protocol import Transaction
    from otpy.runtime.drain import Drain

__all__ = ["Timekeeper"]

SLICE = 60.0
"""Seconds it sleeps at most: the wall clock may be set meanwhile, forwards or back."""


class Round:
    """One look at all schedules, in the writer's thread: each time that is due is fired, once."""

    def __init__(self, fence: Fence, chance: Callable[[], float]) -> None:
        """Of this leader."""
        self.fence = fence
        self.chance = chance
        self.is_over = False
        self.next_at: int | None = None
        self.stopped: list[Job] = []

    def __call__(self, tx: Transaction) -> None:
        """Do it. A time that has been is not fired again when the clock is set back: the row says what was the last."""
        for schedule in () if self.is_over else tx.schedules():
            if schedule.is_paused:
                continue
            try:
                times, follows = due(schedule, schedule.fired_at, tx.now), following(schedule, tx.now)
            except SpecError:  # a zone that another program has, and this one has not: `schedules()` tells it
                continue
            for at in times:
                self._fire(tx, schedule, at)
            self.next_at = follows if self.next_at is None else min(self.next_at, follows)

    def _fire(self, tx: Transaction, schedule: Schedule, at: int) -> None:
        run_at = at + round(schedule.jitter * 1_000 * self.chance())
        self.stopped += tx.fire(schedule.id, at, run_at, self.fence) or ()


class Timekeeper(GenServer):
    """Keeps the schedules that this program declares, and fires those of all."""

    def init(self, setup: Setup, fence: Fence) -> None:
        """Look at once; what is declared here, and elsewhere, is in the store."""
        self.setup, self.fence = setup, fence
        self.writer = self.system.ref(setup.actor(Writer, "writer"))
        self.scheduler = self.system.ref(setup.actor(Scheduler, "scheduler"))
        self._is_looking = self._is_wanted = self._is_over = False
        self._round = Round(fence, self.system.random.random)
        self._alarm = Alarm(self, "look")
        self.ref.tell("look")

    def handle_drain(self, drain: Drain) -> None:  # noqa: ARG002 - as any other
        """Fire nothing more, also by the look that is on its way; whoever leads next does."""
        self._is_over = self._round.is_over = True

    def handle_info(self, message: object) -> None:
        """The time has come, or there may be another schedule."""
        if message == "look":
            self._look()

    @cast
    def looked(self, done: Round, error: Exception | None) -> None:
        """Tell the scheduler, and sleep until the next time."""
        self._is_looking = False
        if store_failed(error):
            self._alarm.set_again()
            return
        if done.stopped:
            self.scheduler.cast(Scheduler.cancel, [(job.id, job.token) for job in done.stopped])
        wait = SLICE if done.next_at is None else (done.next_at - self.setup.now()) / 1_000
        self._alarm.set(min(wait, SLICE))
        if self._is_wanted:
            self._look()

    def _look(self) -> None:
        if self._is_over:
            return
        if self._is_looking:
            self._is_wanted = True
            return
        self._is_looking, self._is_wanted = True, False
        done, own = Round(self.fence, self.system.random.random), self.ref
        self._round = done
        self.writer.cast(Writer.submit, done, lambda error: own.cast(Timekeeper.looked, done, error))
