"""Who leads: of all programs on one store one has the duties, by a lease with an epoch."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING

from otpy.actors.dynamic_supervisor import DynamicSupervisor
from otpy.actors.gen_server import GenServer
from otpy.core.spec import child
from otpy.errors import CallTimeoutError, StartError
from otpy.jobs.duties import Duties
from otpy.jobs.errors import StoreError
from otpy.jobs.model import Fence
from otpy.jobs.writer import Writer
from otpy.runtime.links import Down

if TYPE_CHECKING:
    from otpy.core.reason import Reason
    from otpy.jobs.setup import Setup
    from otpy.jobs.store.protocol import Transaction
    from otpy.runtime.ref import Ref

__all__ = ["Leader"]

LOOK = 0.1
"""The part of a lease between two looks: how late a lead that has ended is noticed, and how often one is renewed."""
MARGIN = 0.1
"""The part of a lease that is not trusted: in it the duties end before another may lead."""


class Leader(GenServer):
    """Elects itself when nobody leads, starts the duties, and ends them before it says that it leads no longer."""

    trap_exit = True

    def init(self, setup: Setup) -> None:
        """Look at once whether anybody leads."""
        self.setup = setup
        self.owner = f"{os.getpid()}-{uuid.uuid4()}"
        self.ttl_ms = round(setup.lease * 1_000)
        self.writer = self.system.ref(setup.actor(Writer, "writer"))
        self.home = self.system.ref(setup.actor(DynamicSupervisor, "duties")).within(None)
        self.fence: Fence | None = None
        self.duties: Ref[Duties] | None = None
        self.trusted_until = 0.0
        self.send_interval(setup.lease * LOOK, "look")
        self.ref.tell("look")

    def handle_info(self, message: object) -> None:
        """The time has come, or the duties have ended."""
        if message == "look":
            try:
                self._look()
            except (StoreError, CallTimeoutError):
                self._doubt()
        elif isinstance(message, Down) and message.target == self.duties:
            self._give_up()

    def terminate(self, reason: Reason) -> None:  # noqa: ARG002 - whatever it is
        """Let the next one take over at once."""
        self._give_up()

    def _look(self) -> None:
        """Elect itself, or go on; by its own monotonic clock, from before each request."""
        trusted = self.system.clock.now() + self.setup.lease * (1 - MARGIN)
        if self.fence is None:
            epoch = self.writer.within(self.setup.lease).call(Writer.run, self._elect)
            if epoch is not None:
                self.trusted_until = trusted
                self._begin(Fence(name=self.setup.name, epoch=epoch))
            return
        left = self.trusted_until - self.system.clock.now()
        if left > 0 and self.writer.within(left).call(Writer.run, self._lead_on):
            self.trusted_until = trusted
        else:
            self._give_up()

    def _doubt(self) -> None:
        """The store does not answer: what was granted is trusted until it is over, and no longer."""
        if self.fence is not None and self.system.clock.now() >= self.trusted_until:
            self._give_up()

    def _begin(self, fence: Fence) -> None:
        """Begin the duties; a leader that cannot is none."""
        self.fence = fence
        try:
            self.duties = self.home.call(DynamicSupervisor.start_child, child(Duties, self.setup, fence))
        except StartError:
            self._give_up()
        if self.duties is not None:
            self.monitor(self.duties)

    def _elect(self, tx: Transaction) -> int | None:
        return tx.elect(self.setup.name, self.owner, self.ttl_ms)

    def _lead_on(self, tx: Transaction) -> bool:
        assert self.fence is not None  # noqa: S101 - it leads
        return tx.lead_on(self.fence, self.owner, self.ttl_ms)

    def _give_up(self) -> None:
        fence, self.fence = self.fence, None
        if fence is None:
            return
        if self.duties is not None and self.duties.is_alive():
            self.home.call(DynamicSupervisor.terminate_child, self.duties)
        self.duties = None
        with suppress(StoreError, CallTimeoutError):  # then it ends by itself
            self.writer.within(self.setup.lease).call(Writer.run, lambda tx: tx.resign(fence, self.owner))
