"""What is to be enqueued, and what came of that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, get_args

__all__ = ["ALL_REPLACED", "Conflict", "Held", "Inserted", "NewJob", "Replaced", "Replayed", "Unique", "Until"]

Until: TypeAlias = Literal["started", "finished", "forever"]
"""How long a unique key is taken."""

Held: TypeAlias = Literal["started", "finished", "forever", "period"]
"""The same as it is written down; a period is so long from when the job was enqueued."""

Conflict: TypeAlias = Literal["keep", "replace", "debounce", "raise"]
"""What an enqueue does that finds a job with the same unique key: give that one, change it while it has not started,
put it off as well, or refuse."""

Replaced: TypeAlias = Literal["args", "time", "priority", "tenant", "deadline"]
"""What is changed of a job that waits."""

ALL_REPLACED: tuple[Replaced, ...] = get_args(Replaced)
"""All of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unique:
    """That at most one job with this key may be in these states."""

    key: str
    """Made of the kind, and of the arguments that count."""
    until: Held = "finished"
    """How long the key is taken: until the job starts, until it has ended, while its row is kept, or for a time."""
    on_conflict: Conflict = "keep"
    """What happens to the second one."""
    period_ms: int = 0
    """That time, from when the first was enqueued."""
    max_wait_ms: int = 0
    """The time from when it was enqueued after which it is put off no longer."""
    replaces: tuple[Replaced, ...] = ALL_REPLACED
    """What is changed of the first one, while it waits."""


class NewJob(NamedTuple):
    """What is to be enqueued. The first fields are columns as they stand, and all that most jobs have."""

    kind: str
    """The name of the function that does it."""
    queue: str
    args: bytes
    """Its arguments, encoded with their version."""
    run_at: int
    """When it may start."""
    priority: int = 0
    """Less is sooner."""
    tenant: str = ""
    """Who shares the queue fairly with others."""
    needs: str = ""
    """The labels that its agent must have, sorted and joined by commas."""
    max_errors: int = 1
    """Failed attempts after which it is dead."""
    max_crashes: int = 3
    """Attempts that may take their agent along before it is dead."""
    timeout_ms: int | None = None
    """How long one attempt may take; None means without end."""
    deadline_at: int | None = None
    """When it is dead, however far it is."""
    start_by: int | None = None
    """When it is dead if nobody has begun it."""
    meta: bytes = b""
    """The effect key of the job that it runs again."""
    version: str = ""
    """Of the code that may do it, and no other; empty: of the one that is active."""
    unique: Unique | None = None
    key: str | None = None
    """The caller's own key: a second enqueue with it gives the first job."""
    replay_of: int | None = None
    """The dead job that this one runs again."""
    schedule: str | None = None
    """The schedule it belongs to."""

    def __repr__(self) -> str:
        """Without what it carries, as that of a `Job`."""
        return f"NewJob(kind={self.kind!r}, queue={self.queue!r}, …)"


class Inserted(NamedTuple):
    """What an enqueue gave."""

    id: int
    """Of the new job, or of the one that was there."""
    how: Literal["new", "kept", "replaced", "refused", "differs"] = "new"
    """`kept`: a job with the same key was there; `replaced`: it has the new arguments now; `refused`: it is in the way;
    `differs`: the caller's own key was used before, for something else."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What became of one job that was to be run again."""

    id: int
    """The old one's."""
    new: int | None
    """The new one's; for one that is `taken`, the one in the way."""
    queue: str
    how: Literal["new", "missing", "not_dead", "replayed", "taken"]
    """`missing`: there is none of this number; `not_dead`: it has not been given up; `replayed`: that was done before;
    `taken`: another job has its unique key now."""
