"""Whose turn it was: tenants share a queue one after the other. No actor, no clock, no store."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otpy.jobs.model.job import Job

__all__ = ["Turns"]


class Turns:
    """The tenant that had the last turn in each queue, and how many jobs it was given one after the other.

    A queue whose last job had no tenant is not here: that is nobody's turn.
    """

    def __init__(self) -> None:
        """Nobody had one."""
        self._last: dict[str, tuple[str, int]] = {}

    def given(self, job: Job) -> None:
        """It was given to an agent."""
        if not job.tenant:
            self._last.pop(job.queue, None)
            return
        tenant, number = self._last.get(job.queue, ("", 0))
        self._last[job.queue] = job.tenant, number + 1 if tenant == job.tenant else 1

    def tenants(self, queues: Iterable[str]) -> dict[str, str]:
        """Who had the last turn in each of these where somebody had."""
        return {queue: self._last[queue][0] for queue in queues if queue in self._last} if self._last else {}

    def streak(self, queue: str) -> int:
        """How many jobs the last one was given."""
        return self._last.get(queue, ("", 1))[1]
