"""The host's beat: it keeps the leases of all jobs that run here, whatever their agents do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.actors.gen_server import GenServer
from otpy.jobs.writer import Writer
from otpy.runtime.request import cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from otpy.jobs.model import Job
    from otpy.jobs.setup import Setup
    from otpy.jobs.store.protocol import Transaction

__all__ = ["Beat"]


class Beat(GenServer):
    """Renews in one statement, three times a lease; an actor of its own, so that no other's work holds it up."""

    def init(self, setup: Setup) -> None:
        """Hold nothing yet."""
        self.lease_ms = round(setup.lease * 1_000)
        self.writer = self.system.ref(setup.actor(Writer, "writer"))
        self.held: dict[int, int] = {}
        self.send_interval(setup.lease / 3, "beat")

    @cast
    def change(self, begun: list[Job], ended: Iterable[tuple[int, int]]) -> None:
        """These run now, those no longer."""
        for job, token in ended:
            if self.held.get(job) == token:
                del self.held[job]
        self.held.update({job.id: job.token for job in begun})

    @cast
    def lost(self, claims: Iterable[tuple[int, int]]) -> None:
        """These were taken by others."""
        self.change([], claims)

    def handle_info(self, message: object) -> None:
        """The time has come."""
        if message == "beat" and self.held:
            self.renew(lambda: None)

    @cast
    def renew(self, then: Callable[[], object]) -> None:
        """Renew at once; `then` is called, in the writer's thread, when that is kept, and not when the store fails."""
        held, own = list(self.held.items()), self.ref
        lost: list[tuple[int, int]] = []

        def renew(tx: Transaction) -> None:
            lost.extend(tx.renew(held, self.lease_ms))

        def kept(error: Exception | None) -> None:
            if error is None:
                own.cast(Beat.lost, lost)
                then()

        if held:
            self.writer.cast(Writer.submit, renew, kept)
        else:
            then()
