"""The ear of an agent in a process: hears that its job is cancelled while the agent is busy with it."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

from otpy.actors.gen_server import GenServer
from otpy.runtime.request import cast

if TYPE_CHECKING:
    from otpy.jobs.agents.agent import Agent

__all__ = ["Ear"]


class Ear(GenServer):
    """Runs on a thread of the agent's own process; elsewhere the scheduler sets the flag itself."""

    def init(self, agent: Agent) -> None:
        """Belong to this one."""
        self.agent = agent

    @cast
    def cancel(self, id: int, token: int) -> None:
        """Set the flag of the job, if it still runs, and send SIGTERM, for which its own code may have a handler."""
        doing = self.agent.doing
        if doing is not None and (doing[0].id, doing[0].token) == (id, token):
            doing[1].is_up = True
            task = self.agent.task
            if task is not None:
                with suppress(RuntimeError):  # its loop has just been closed: it has ended
                    task[0].call_soon_threadsafe(task[1].cancel)
            os.kill(os.getpid(), signal.SIGTERM)
