"""What a leader does, as one subtree: the scheduler, the janitor, the crews; and who begins and ends it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from otpy.actors.dynamic_supervisor import DynamicSupervisor
from otpy.actors.gen_server import GenServer
from otpy.actors.supervisor import Supervisor
from otpy.core.spec import child
from otpy.core.text import safe_str
from otpy.errors import ChildNotFoundError, StartError
from otpy.jobs.janitor import Janitor
from otpy.jobs.timekeeper import Timekeeper
from otpy.jobs.work import clerks, crews
from otpy.runtime.links import Down
from otpy.runtime.request import call, cast

if TYPE_CHECKING:
    from otpy.core.spec import ChildSpec
    from otpy.core.strategy import Strategy
    from otpy.jobs.model.lead import Fence
    from otpy.jobs.setup import Crew, Setup
    from otpy.runtime.named import NamedRef
    from otpy.runtime.ref import Ref

__all__ = ["DRAIN", "Duties", "Steward"]


DRAIN = 15.0
"""Seconds that the duties have to end at most, agents with all they do and what is written of it; then they are killed,
and what was at hand waits for its lease."""


def lead(setup: Setup, fence: Fence, calm: float) -> list[ChildSpec]:
    """Who does what must be done once for all programs, in start order."""
    return [
        child(Timekeeper, setup, fence).opts(id="timekeeper", name=setup.actor(Timekeeper, "timekeeper")),
        child(Janitor, setup, fence, calm).opts(id="janitor", name=setup.actor(Janitor, "janitor")),
    ]


class Duties(Supervisor):
    """Rest for one: agents belong to the scheduler that knows their jobs, and go with it."""

    strategy: Strategy = "rest_for_one"

    def init(self, setup: Setup, fence: Fence, calm: float = 0.0) -> None:
        """Of the leader with this epoch; nothing is taken back from others for so many seconds."""
        self.setup, self.fence, self.calm = setup, fence, calm
        self.scaled: dict[str, Crew] = {}

    def children(self) -> list[ChildSpec]:
        """In start order."""
        setup, fence = self.setup, self.fence
        return [*clerks(setup, fence), *lead(setup, fence, self.calm), *crews(setup, self.scaled)]


class Steward(GenServer):
    """Begins and ends the duties for the leader, which has its lease to extend however long that takes.

    The duties are temporary where they run: when they end by themselves the leader resigns, so that another one may
    do them, and nothing here is started again meanwhile.
    """

    def init(self, setup: Setup) -> None:
        """End what one before has begun."""
        self.setup = setup
        self.leader: NamedRef[Any] = self.system.ref(f"{setup.name}/leader")
        self.home = self.system.ref(setup.actor(DynamicSupervisor, "duties")).within(None)
        self.duties: Ref[Any] | None = None
        self.fence: Fence | None = None
        for one in self.home.call(DynamicSupervisor.which_children):
            if one.ref is not None:
                self._terminate(one.ref)

    @cast
    def begin(self, fence: Fence, calm: float) -> None:
        """Begin them; the leader hears when that fails, now or later."""
        spec = child(Duties, self.setup, fence, calm).opts(restart="temporary", shutdown=DRAIN)
        try:
            self.duties = self.home.call(DynamicSupervisor.start_child, spec)
        except StartError as error:
            self.leader.tell(("failed", fence, f"its duties do not start: {error}"))
            return
        self.fence = fence
        if self.duties is not None:
            self.monitor(self.duties)

    @cast
    def finish(self, fence: Fence) -> None:
        """End them, and tell the leader then."""
        self.end()
        self.leader.tell(("ended", fence))

    @call
    def end(self) -> None:
        """End them; the reply comes when they have."""
        duties, self.duties = self.duties, None
        if duties is not None:
            self._terminate(duties)

    def handle_info(self, message: object) -> None:
        """They have ended by themselves."""
        if isinstance(message, Down) and message.target == self.duties:
            self.duties = None
            self.leader.tell(("failed", self.fence, f"its duties have ended: {safe_str(message.reason)}"))

    def _terminate(self, duties: Ref[Any]) -> None:
        with suppress(ChildNotFoundError):  # ended meanwhile
            self.home.call(DynamicSupervisor.terminate_child, duties)
