"""A job as the store keeps it, and an attempt that failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from otpy.jobs.args import decode, unpack

__all__ = ["CRASHES", "LIVING", "Attempt", "Earlier", "Failure", "Job", "State"]

State: TypeAlias = Literal["scheduled", "ready", "running", "done", "dead", "cancelled", "replayed"]
"""`scheduled` waits for its time, `ready` for an agent, `running` has a lease; the others are final.

A job whose breaker is open, or whose queue is paused, stays `ready` and is not claimed: that costs no write.
"""

LIVING: tuple[State, ...] = ("scheduled", "ready", "running")
"""The states of a job that is still to end."""

Failure: TypeAlias = Literal["error", "timeout", "stalled", "crash", "lost", "stale"]
"""How an attempt failed: the handler raised; it took too long; it no longer made progress; its agent died; its program
did, so that its lease ran out; its result could not be stored."""

CRASHES: tuple[Failure, ...] = ("crash", "lost")
"""Those that took the agent or the program along: counted apart, for they harm others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt that failed."""

    number: int
    at: int
    failure: Failure
    text: str
    """What was raised, or how the agent ended: one line, bounded, without secrets."""
    trace: str = ""
    """Where it was raised, as Python prints it, with its causes: the last lines. Empty when nothing was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """Failed attempts from before those that are kept one by one, as far as they failed alike."""

    failure: Failure
    number: int
    """How many."""
    first_at: int
    last_at: int


class Job(NamedTuple):
    """A row of the store."""

    id: int
    kind: str
    queue: str
    state: State
    args: bytes
    run_at: int
    priority: int
    tenant: str
    needs: str
    unique_key: str | None
    key: str | None
    attempt: int
    """Which attempt this is; for people."""
    token: int
    """Grows with each claim and is never used again; what is written about an attempt names it."""
    errors: int
    """Attempts that failed by themselves."""
    crashes: int
    """Attempts that took their agent or their program along."""
    releases: int
    """Attempts that were given back unfinished, at no cost."""
    max_errors: int
    max_crashes: int
    timeout_ms: int | None
    deadline_at: int | None
    owner: str
    """The agent that has it, for people, on a server with `@machine:pid`; empty while it waits."""
    lease_until: int | None
    """When it is given up unless its program is heard of; 0 where that is over, and its place in a limit is free."""
    created_at: int
    finished_at: int | None = None
    progress: bytes | None = None
    checkpoint: bytes | None = None
    result: bytes | None = None
    reason: str = ""
    """Why it is dead or cancelled."""
    meta: bytes = b""
    replay_of: int | None = None
    start_by: int | None = None
    """When it is dead if nobody has begun it; None once it was begun."""
    version: str = ""
    """Of the code that may do it, and no other; empty: of the one that is active."""
    attempts: tuple[Attempt, ...] = ()
    """The failed ones, oldest first, at most the last twenty; filled by `get` alone."""
    earlier: tuple[Earlier, ...] = ()
    """What is left of those before: a number and two times for each kind of failure. So a job takes a bounded room,
    however often it is tried. Filled by `get` alone."""

    def __repr__(self) -> str:
        """What tells it from others, without what it carries: that may be secret, and ends up in logs."""
        return f"Job(id={self.id}, kind={self.kind!r}, queue={self.queue!r}, state={self.state!r}, …)"

    @property
    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What its function is called with. Raises ArgumentsError when a newer otpy has written it."""
        return decode(self.args)

    @property
    def result_value(self) -> Any:  # Any: whatever its function returned
        """What its function returned; None while it has not. Raises as `arguments`."""
        return None if self.result is None else unpack(self.result)

    @property
    def progress_value(self) -> Any:  # Any: whatever its function tells
        """How far it is, as it told last; None when it has not. Raises as `arguments`."""
        return None if self.progress is None else unpack(self.progress)

    @property
    def effect_key(self) -> str:
        """The same over all attempts and replays: for services that do a thing once for each key."""
        return self.meta.decode() if self.meta else f"otpy-{self.created_at}-{self.id}"
