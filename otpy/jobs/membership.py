"""The membership: says to all programs on a server that this one is there, and to its scheduler whether it may work."""

from __future__ import annotations

import uuid
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from otpy.actors.gen_server import GenServer
from otpy.core.decision import NoReply
from otpy.errors import CallError
from otpy.jobs.alarm import Alarm
from otpy.jobs.errors import StoreError
from otpy.jobs.model.host import Host, Station
from otpy.jobs.program import program
from otpy.jobs.scheduler.scheduler import Scheduler
from otpy.jobs.submitted import store_failed
from otpy.jobs.writer import Writer
from otpy.runtime.request import cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.core.reason import Reason
    from otpy.jobs.setup import Setup
    from otpy.jobs.store.protocol import Transaction
    from otpy.runtime.drain import Drain

__all__ = ["GOODBYE", "Badge", "Door", "Membership"]

GOODBYE = 2.0
"""Seconds that the store may take at most to hear that a program is gone."""


class Badge:
    """Who this program is among all. The membership alone changes it; it is read in any thread."""

    def __init__(self, setup: Setup) -> None:
        """Nobody yet that the store knows."""
        self.host = Host(
            id=str(uuid.uuid4()),
            name=program(),
            labels=tuple(sorted(frozenset[str]().union(*(crew.labels for crew in setup.crews)))),
            version=setup.version,
            agents=sum(crew.size for crew in setup.crews),
        )

    def change(self) -> None:
        """Be another one: that one is dead."""
        self.host = replace(self.host, id=str(uuid.uuid4()))


class Round:
    """Says that the program is there, in the writer's thread, and sees how it is looked at."""

    def __init__(self, host: Host, ttl_ms: int, sent_at: float) -> None:
        """Not done yet. `sent_at` is from before the request, so a slow one is not trusted for too long."""
        self.host, self.ttl_ms, self.sent_at = host, ttl_ms, sent_at
        self.is_there = False
        self.is_draining = False

    def __call__(self, tx: Transaction) -> None:
        """Do it."""
        self.is_there = tx.appear(self.host, self.ttl_ms)
        own = [one for one in tx.hosts(living=True) if one.host.id == self.host.id]
        self.is_draining = any(one.draining_since is not None for one in own)

    @property
    def station(self) -> Station | None:
        """For whom jobs may be claimed."""
        return Station(self.host.id, self.host.version) if self.is_there and not self.is_draining else None


class Membership(GenServer):
    """Renews the row of this program with each beat, and trusts that by its own monotonic clock, and no longer.

    While the store does not answer for so long nothing more is begun here, for the others take the program for dead.
    What it has at hand has leases of its own. When it has been dead, as after a long sleep, it comes back as another
    one: its scheduler claims for that, and its jobs go on as far as their leases do.
    """

    trap_exit = True

    def init(self, setup: Setup, badge: Badge) -> None:
        """Appear at once."""
        self.setup, self.badge = setup, badge
        self.writer = self.system.ref(setup.actor(Writer, "writer"))
        self.scheduler = self.system.ref(setup.actor(Scheduler, "scheduler"))
        self.station: Station | None = None
        """What the scheduler was told."""
        self.trusted_until = 0.0
        self.is_closed = False
        """Whether this program is told to stop, as far as is known here."""
        self._is_asked = self._is_out = self._is_leaving = False
        self._beat, self._check = Alarm(self, "beat"), Alarm(self, "check")
        self.ref.tell("beat")

    def handle_info(self, message: object) -> None:
        """The time has come; or a scheduler begins, and asks for whom it may claim, or was refused."""
        match message:
            case "begin":
                self._open()
            case "look":
                self._is_asked = True
                self._appear()
            case "beat":
                self._appear()
            case "check" if self.trusted_until <= self.system.clock.now():
                self._post(None)

    @cast
    def appeared(self, done: Round, error: Exception | None) -> None:
        """It is kept, or the store has failed."""
        self._is_out = False
        if store_failed(error):
            self._beat.set_again()
            return
        if not done.is_there and done.host == self.badge.host:  # it was dead, and that does not end
            self.badge.change()
        if done.host != self.badge.host:
            self._appear()
            return
        self.trusted_until = self.setup.trusted_until(done.sent_at)
        now = self.system.clock.now()
        self._check.set(self.trusted_until - now)
        self._beat.set(min(self.setup.beat_seconds, self.trusted_until - now))
        self._post(done.station if now < self.trusted_until else None)

    def handle_drain(self, drain: Drain) -> NoReply:
        """Be given nothing more, and have all see that; done when it is kept, or the store does not keep it."""
        self._is_leaving = True
        self._close(lambda _: drain.done())
        return NoReply()

    @cast
    def close(self) -> None:
        """The work is about to end: be given nothing more, and have all see that."""
        self._close(lambda _: None)

    def terminate(self, reason: Reason) -> None:  # noqa: ARG002 - whatever it is
        """Be gone at once, and not only when the time is over."""
        one = self.badge.host.id
        with suppress(StoreError, CallError):
            self.writer.within(GOODBYE / 2).call(Writer.run, lambda tx: tx.leave(one))

    def _close(self, then: Callable[[Exception | None], object]) -> None:
        self.is_closed = True
        one = self.badge.host.id
        self.writer.cast(Writer.submit, lambda tx: tx.drain(one), then)

    def _open(self) -> None:
        """The work has ended and begins again: who was given nothing more comes back as another one."""
        if self.is_closed and not self._is_leaving:
            before, self.is_closed = self.badge.host.id, False
            self.badge.change()
            self.writer.cast(Writer.submit, lambda tx: tx.leave(before), lambda _: None)
        self._is_asked = True
        self._appear()

    def _appear(self) -> None:
        """One round is on its way at a time."""
        if self._is_out:
            return
        self._is_out = True
        done, own = Round(self.badge.host, self.setup.lease_ms, self.system.clock.now()), self.ref
        self.writer.cast(Writer.submit, done, lambda error: own.cast(Membership.appeared, done, error))

    def _post(self, station: Station | None) -> None:
        """Tell the scheduler what it does not know; one that is not there yet asks when it begins."""
        if self._is_asked or station != self.station:
            self.station, self._is_asked = station, False
            if (scheduler := self.scheduler.whereis()) is not None:
                scheduler.cast(Scheduler.post, station)


class Door(GenServer):
    """Stands behind the work in the order of starts, and so is closed before that ends."""

    trap_exit = True

    def init(self, setup: Setup) -> None:
        """Is open."""
        self.membership = self.system.ref(setup.actor(Membership, "membership"))

    def terminate(self, reason: Reason) -> None:  # noqa: ARG002 - whatever it is
        """Nothing more comes in."""
        self.membership.cast(Membership.close)
