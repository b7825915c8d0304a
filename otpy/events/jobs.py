"""What happens around jobs, apart from the work itself."""

from __future__ import annotations

import logging

from otpy.core.seconds import in_seconds
from otpy.core.value import value
from otpy.events.event import Event

__all__ = ["CrewChanged", "JobFailed", "JobsDrained", "StaleWrite", "StoreExposed", "StoreFailed", "StoreRecovered"]

OTHERS = ("StoreBusyError", "StoreConflictError", "StoreLockedError")
"""Errors of a store that others have been holding."""


@value(kw_only=True)
class CrewChanged(Event):
    """A crew has more agents than before, or fewer, or one did not start."""

    crew: str
    """Its name."""
    desired: int
    """How many there shall be: those that work, and the spare ones."""
    ready: int
    """How many there are."""
    failures: int
    """Starts that failed one after the other, each followed by a longer pause; the retries of jobs count apart."""
    why: str | None
    """Why the last one ended, or did not start."""

    @property
    def level(self) -> int:
        """A warning when agents do not start; that one ends and is replaced is every day's business."""
        return logging.WARNING if self.failures else logging.DEBUG

    def __str__(self) -> str:
        told = "" if self.why is None else f": {self.why}"
        failed = f", {self.failures} starts failed" if self.failures else ""
        return f"{self.path}: crew {self.crew!r} has {self.ready} of {self.desired} agents{failed}{told}"


@value(kw_only=True)
class JobFailed(Event):
    """An attempt at a job failed, or the job was given up; `path` is that of the agent that made it.

    It is told once that is written down, and of attempts alone whose end the store has taken. Where a whole program has
    died, the one tells it that takes its jobs back; where nobody has begun a job in time, the one that finds it, and
    `path` is then that of its janitor.
    """

    job: int
    """Its number."""
    kind: str
    """What it is called."""
    queue: str
    """Where it waited."""
    attempt: int
    """Which one it was."""
    failure: str
    """As in `Attempt`: `error`, `timeout`, `stalled`, `crash`, `lost`, `stale`; empty when the handler returned `Dead`,
    or its time was over while it waited."""
    text: str
    """What was raised, or how the agent ended; through the engine's `redact`."""
    state: str
    """What the job is from now on: `dead`, or `ready` or `scheduled` for a further attempt, or what the error's table
    says."""
    reason: str
    """Why it is dead or cancelled."""
    is_lost: bool = False
    """Whether it is `done` though this has failed, for its kind says `early_ack`: nobody will try again."""

    @property
    def level(self) -> int:
        """A warning when nobody will try again: somebody has to look."""
        return logging.WARNING if self.state == "dead" or self.is_lost else logging.INFO

    def __str__(self) -> str:
        why = self.text or self.reason
        if self.state == "dead":
            begun = f" after attempt {self.attempt}" if self.attempt else ", and was not begun"
            became = f"is dead{begun}" + f" ({self.reason})" * (self.reason not in ("", why))
        elif self.is_lost:
            became = f"is lost, for it was acknowledged before attempt {self.attempt} failed"
        else:
            became = f"is {self.state} after attempt {self.attempt} failed"
        return f"{self.path}: job {self.job}, {self.kind}, {became}: {why}"


@value(kw_only=True)
class StoreExposed(Event):
    """Others can read the file of an engine's store, and what its jobs were given; told when it is opened.

    otpy makes it for its owner alone, and leaves the rights of one that it finds.
    """

    store: str
    """The file."""
    mode: int
    """Its rights, as `chmod` takes them."""

    @property
    def level(self) -> int:
        """A warning: somebody may mean it so."""
        return logging.WARNING

    def __str__(self) -> str:
        return (
            f"{self.path}: others can read or write {self.store} (mode {self.mode:04o}), and so the arguments of jobs: "
            f"chmod 600 it, and the files beside it whose names begin with its own"
        )


@value(kw_only=True)
class StoreFailed(Event):
    """An engine's store keeps nothing from now on: its disk is full or fails, or another program has it to itself.

    Told once, however often it is tried again; `path` is that of the writer.
    """

    store: str
    """The file."""
    error: str
    """The error's class: who enqueues gets one of it."""
    problem: str
    """What it says."""

    @property
    def level(self) -> int:
        """An error, unless others are at fault and it is soon over."""
        return logging.WARNING if self.error in OTHERS else logging.ERROR

    def __str__(self) -> str:
        return f"{self.path}: {self.store} keeps nothing any more: {self.problem}"


@value(kw_only=True)
class StoreRecovered(Event):
    """The store keeps what it is given again, and has for five seconds."""

    store: str
    """The file."""
    seconds: float
    """How long it has not: from the first failure to the last."""
    refused: int
    """Requests of which nothing was kept."""

    @property
    def level(self) -> int:
        """A warning, for who has read of the failure is to read this, too."""
        return logging.WARNING

    def __str__(self) -> str:
        return (
            f"{self.path}: {self.store} keeps what it is given again, after {in_seconds(self.seconds)} "
            f"in which {self.refused} requests failed"
        )


@value(kw_only=True)
class JobsDrained(Event):
    """What has become of the jobs that a program had when it was told to stop; `path` is that of its scheduler."""

    finished: int
    """They have ended, well or not, as at any other time."""
    released: int
    """They were given back, without an attempt spent."""
    checkpointed: int
    """They were given back, too, and have kept how far they were."""
    left: tuple[int, ...]
    """The numbers of those whose code goes on in a thread: their leases end by themselves."""

    @property
    def level(self) -> int:
        """A warning when something was left."""
        return logging.WARNING if self.left else logging.INFO

    def __str__(self) -> str:
        kept = f"{self.finished} finished, {self.released} given back, {self.checkpointed} more with a checkpoint"
        left = f", left to their leases: {', '.join(map(str, self.left))}" if self.left else ""
        return f"{self.path}: jobs at the end: {kept}{left}"


@value(kw_only=True)
class StaleWrite(Event):
    """Something about an attempt was not written, for its job had been taken back; it is somebody else's, or ended."""

    job: int
    """Its number."""
    token: int
    """That of the attempt."""
    what: str
    """`end`, how it went; `note`, how far it was; `once`, what it was to do once."""

    @property
    def level(self) -> int:
        """As it should be: this is what tokens are for."""
        return logging.INFO

    def __str__(self) -> str:
        return (
            f"{self.path}: job {self.job}: the {self.what} of an attempt that was over, token {self.token}, is dropped"
        )
