"""The job that a handler is doing, as it may ask for it."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

from otpy.jobs.errors import NoJobError

if TYPE_CHECKING:
    from otpy.jobs.model import Job

__all__ = ["CURRENT", "Running", "current"]


class Running:
    """One attempt of one job, for the code that does it."""

    def __init__(self, job: Job) -> None:
        """Made by its agent."""
        self._job = job

    @property
    def id(self) -> int:
        """The job's number in the store."""
        return self._job.id

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1; one that was given back does not count."""
        return self._job.attempt

    @property
    def token(self) -> int:
        """Grows with each attempt: an outside system that keeps the highest it has seen can refuse a late one."""
        return self._job.token

    @property
    def key(self) -> str:
        """The same over all attempts: for services that do a thing once for each key."""
        return f"otpy-{self._job.created_at}-{self._job.id}"


CURRENT: ContextVar[Running] = ContextVar("otpy_job")


def current() -> Running:
    """The job whose handler calls this.

    Raises:
        NoJobError: no job runs here: the function was simply called.
    """
    try:
        return CURRENT.get()
    except LookupError:
        raise NoJobError from None
