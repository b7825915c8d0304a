"""Who leads: of all programs on one store one has the duties, by a lease with an epoch."""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING

from otpy.actors.dynamic_supervisor import DynamicSupervisor
from otpy.actors.gen_server import GenServer
from otpy.core.spec import child
from otpy.jobs.duties import Duties
from otpy.jobs.model import Fence
from otpy.jobs.writer import Writer
from otpy.runtime.links import Down

if TYPE_CHECKING:
    from otpy.core.reason import Reason
    from otpy.jobs.setup import Setup
    from otpy.jobs.store.protocol import Transaction
    from otpy.runtime.ref import Ref

__all__ = ["Leader"]


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
        self.send_interval(setup.lease / 10, "look")
        self.ref.tell("look")

    def handle_info(self, message: object) -> None:
        """The time has come, or the duties have ended."""
        if message == "look":
            self._look()
        elif isinstance(message, Down) and message.target == self.duties:
            self._give_up()

    def terminate(self, reason: Reason) -> None:  # noqa: ARG002 - whatever it is
        """Let the next one take over at once."""
        self._give_up()

    def _look(self) -> None:
        began = self.system.clock.now()
        if self.fence is None:
            epoch = self.writer.within(None).call(Writer.run, self._elect)
            if epoch is not None:
                self.fence = Fence(name=self.setup.name, epoch=epoch)
                self.trusted_until = began + self.setup.lease
                self.duties = self.home.call(DynamicSupervisor.start_child, child(Duties, self.setup, self.fence))
                assert self.duties is not None  # noqa: S101 - it ignores nothing
                self.monitor(self.duties)
        elif self.writer.within(None).call(Writer.run, self._lead_on):
            self.trusted_until = began + self.setup.lease
        else:
            self._give_up()

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
        self.writer.within(None).call(Writer.run, lambda tx: tx.resign(fence, self.owner))
