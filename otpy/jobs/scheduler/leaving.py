"""A scheduler in a drain: nothing begins, what runs is waited for, and told to leave when that time is over."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from otpy.core.decision import NoReply
from otpy.jobs.agents.desk import Desk
from otpy.jobs.scheduler.parting import LOOK, Parting
from otpy.jobs.writer import Writer
from otpy.runtime.draining import draining_of
from otpy.runtime.request import cast

if TYPE_CHECKING:
    from otpy.jobs.scheduler.attempts import Attempts
    from otpy.jobs.scheduler.books import Books
    from otpy.jobs.scheduler.exchange import Outbox
    from otpy.jobs.scheduler.rights import Rights
    from otpy.jobs.setup import Setup
    from otpy.jobs.store.protocol import Transaction
    from otpy.runtime.drain import Drain
    from otpy.runtime.named import NamedRef

__all__ = ["Leaving"]

LATER = NoReply()


class Leaving(Desk):
    """That part of the scheduler, which knows the rest."""

    setup: Setup
    writer: NamedRef[Writer]
    rights: Rights
    books: Books[Any]
    attempts: Attempts
    outbox: Outbox
    path: str
    parting: Parting | None = None
    """From the moment that this program is told to stop: nothing more is begun."""
    flushing: Drain | None = None
    """Who waits until all is written."""

    def handle_drain(self, drain: Drain) -> NoReply:
        """Begin nothing from now on, also of what is on its way; done when all that runs has ended, and is kept."""
        self.parting, own = Parting(drain), self.ref
        self.rights.close()
        self.attempts.give_back(self.books.drop_hands())
        for worker in self.books.busy():
            self.attempts.part(worker, drain.remaining)
        self.send_after(min(LOOK, drain.remaining()), "part")
        self.exchange()
        self.writer.cast(Writer.submit, _nothing, lambda _: own.cast(Leaving.is_quiet))
        return LATER

    @cast
    def is_quiet(self) -> None:
        """What was claimed before the drain has come."""
        if self.parting is not None:
            self.parting.is_quiet = True
        self.exchange()

    def handle_flush(self, drain: Drain) -> NoReply:
        """Done when all that is known of attempts is written."""
        self.flushing = drain
        self.exchange()
        return LATER

    def part(self, parting: Parting) -> None:
        """See whether the time is over in which jobs may end by themselves; who then runs is told to leave."""
        left = parting.drain.remaining()
        if left > 0:
            self.send_after(min(LOOK, left), "part")
            return
        told, now = draining_of(self.system, self.ref), self.system.clock.now()
        grace = parting.grace(None if told is None else told.deadline, now, self.setup.grace)
        for worker in self.books.busy():
            self.attempts.cut_off(worker, grace)

    def look_back(self) -> None:
        """Whether all is over for which a drain waits."""
        parting = self.parting
        if parting is None and self.flushing is None:
            return
        is_written = not self.outbox.has_words
        if parting is not None:
            in_flight = parting.show(self.books.busy(), self.attempts.undead)
            if is_written and parting.is_quiet and not in_flight:
                self.tell_parting()
                parting.drain.done()
        if self.flushing is not None and is_written:
            flushing, self.flushing = self.flushing, None
            flushing.done()

    def tell_parting(self) -> None:
        """Say what has become of the jobs."""
        event = None if self.parting is None else self.parting.told(self.path, self.attempts.undead)
        if event is not None:
            self.system.events.emit(event)

    @abstractmethod
    def exchange(self) -> None:
        """Send what there is to say."""


def _nothing(_: Transaction) -> None:
    """To know that all is done which was sent before."""
