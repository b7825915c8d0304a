"""The ear of an agent in a process: hears that its job is cancelled while the agent is busy with it."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

from otpy.actors.gen_server import GenServer
from otpy.runtime.request import cast

if TYPE_CHECKING:
    from otpy.jobs.agents.agent import Agent
    from otpy.jobs.agents.context import Flag

__all__ = ["Ear"]


class Ear(GenServer):
    """Runs on a thread of the agent's own process; elsewhere the scheduler sets the flag itself."""

    def init(self, agent: Agent) -> None:
        """Belong to this one."""
        self.agent = agent

    @cast
    def cancel(self, id: int, token: int) -> None:
        """Set the flag of the job, if it still runs, and send SIGTERM, for which its own code may have a handler."""
        flag = self._flag_of(id, token)
        if flag is not None:
            flag.is_up = True
            self._break_in()

    @cast
    def part(self, id: int, token: int, seconds: float) -> None:
        """The program drains, and the job may go on for so long."""
        flag, until = self._flag_of(id, token), monotonic() + seconds
        if flag is not None:
            flag.left = lambda: max(0.0, until - monotonic())

    @cast
    def leave(self, id: int, token: int) -> None:
        """That time is over: as `cancel`, but what it has not done is given back."""
        flag = self._flag_of(id, token)
        if flag is not None:
            flag.is_leaving = True
            self._break_in()

    def _flag_of(self, id: int, token: int) -> Flag | None:
        """That of a job that still runs."""
        doing = self.agent.doing
        return doing[1] if doing is not None and (doing[0].id, doing[0].token) == (id, token) else None

    def _break_in(self) -> None:
        task = self.agent.task
        if task is not None:
            with suppress(RuntimeError):  # its loop has just been closed: it has ended
                task[0].call_soon_threadsafe(task[1].cancel)
        os.kill(os.getpid(), signal.SIGTERM)
