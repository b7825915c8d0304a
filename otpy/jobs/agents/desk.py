"""What agents, crews and the beat say to the scheduler: the requests, which it serves.

They stand here by themselves because the scheduler knows all of these, and they must not know it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.actors.gen_server import GenServer
from otpy.jobs.redact import sealed
from otpy.runtime.request import cast

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otpy.jobs.agents.attempt import Report
    from otpy.jobs.agents.ear import Ear
    from otpy.jobs.setup import Crew
    from otpy.runtime.ref import Ref

__all__ = ["Desk"]


class Desk(GenServer):
    """The scheduler, as these know it. What agents say is plain data: it may come out of a process."""

    def redact(self, name: str, value: Any) -> object:
        """Show nothing of what jobs return and tell."""
        return sealed(name, value)

    @cast
    def join(self, agent: Ref[Any], crew: str, ear: Ref[Ear] | None) -> None:
        """An agent is there, and rests."""
        raise NotImplementedError

    @cast
    def report(self, agent: Ref[Any], id: int, token: int, report: Report) -> None:
        """How an attempt went."""
        raise NotImplementedError

    @cast
    def note(self, agent: Ref[Any], id: int, token: int, progress: bytes | None, checkpoint: bytes | None) -> None:
        """How far a job is."""
        raise NotImplementedError

    @cast
    def crew(self, crew: Crew, is_open: bool) -> None:  # noqa: FBT001 - a cast, and the checker knows its arguments
        """A crew has other numbers, or begins no further job."""
        raise NotImplementedError

    @cast
    def cancel(self, claims: Iterable[tuple[int, int]]) -> None:
        """These (id, token) were cancelled."""
        raise NotImplementedError

    @cast
    def lost(self, claims: Iterable[tuple[int, int]], is_known: bool) -> None:  # noqa: FBT001 - as above
        """These are no longer ours; or, when that is not known, nobody can say."""
        raise NotImplementedError
