"""The steward: begins and ends what one program of all does, for whoever has been elected to that."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from otpy.actors.dynamic_supervisor import DynamicSupervisor
from otpy.actors.gen_server import GenServer
from otpy.core.text import safe_str
from otpy.errors import ChildNotFoundError, StartError
from otpy.runtime.links import Down
from otpy.runtime.request import call, cast

if TYPE_CHECKING:
    from otpy.core.spec import ChildSpec, Name
    from otpy.jobs.model.lead import Fence
    from otpy.runtime.named import NamedRef
    from otpy.runtime.ref import Ref

__all__ = ["Steward"]


class Steward(GenServer):
    """Begins and ends the duties for a candidate, which has its lease to extend however long that takes.

    The duties are temporary where they run: when they end by themselves the candidate resigns, so that another one may
    do them, and nothing here is started again meanwhile.
    """

    def init(self, what: str, home: Name[DynamicSupervisor], candidate: Name[Any]) -> None:
        """End what one before has begun.

        Args:
            what: what the duties are called, in a sentence with what became of them.
            home: the supervisor they run under.
            candidate: who hears when they do not start, or have ended.
        """
        self.what = what
        self.candidate: NamedRef[Any] = self.system.ref(candidate)
        self.home = self.system.ref(home).within(None)
        self.duties: Ref[Any] | None = None
        self.fence: Fence | None = None
        for one in self.home.call(DynamicSupervisor.which_children):
            if one.ref is not None:
                self._terminate(one.ref)

    @cast
    def begin(self, fence: Fence, duties: ChildSpec) -> None:
        """Begin them; the candidate hears when that fails, now or later."""
        try:
            self.duties = self.home.call(DynamicSupervisor.start_child, duties.opts(restart="temporary"))
        except StartError as error:
            self.candidate.tell(("failed", fence, f"{self.what} did not start: {error}"))
            return
        self.fence = fence
        if self.duties is not None:
            self.monitor(self.duties)

    @cast
    def finish(self, fence: Fence) -> None:
        """End them, and tell the candidate then."""
        self.end()
        self.candidate.tell(("ended", fence))

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
            self.candidate.tell(("failed", self.fence, f"{self.what} ended: {safe_str(message.reason)}"))

    def _terminate(self, duties: Ref[Any]) -> None:
        with suppress(ChildNotFoundError):  # ended meanwhile
            self.home.call(DynamicSupervisor.terminate_child, duties)
