"""What a history is made of: the changes of rows, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["History", "Known", "Step", "changes", "id_of", "rows_of"]


class Step(NamedTuple):
    """One change of one row."""

    at: int
    """By the clock of the store, in milliseconds, as it was made: before its commit."""
    who: str
    """The program that made it: a name, a dot, and the number of its process."""
    what: str
    """`job`, `term`, `beat`, `schedule` or `host`."""
    old: dict[str, Any] | None
    new: dict[str, Any] | None
    leader: str = ""
    """Who led, as the transaction saw it: as the term has it, `machine:pid:uuid`."""
    epoch: int = 0
    began: int = 0
    """When its transaction began, at the latest; what it has gone by was true then or later."""

    @property
    def pid(self) -> str:
        """Of the program that made it."""
        return self.who.rpartition(".")[2]

    def moves(self, old: str | None, new: str) -> bool:
        """Whether it takes a job from this state into that one."""
        return (self.was, self.state) == (old, new)

    @property
    def was(self) -> str | None:
        """The state before; None for a job that is new."""
        return None if self.old is None else self.old["state"]

    @property
    def state(self) -> str | None:
        """The state after; None for one that is gone."""
        return None if self.new is None else self.new["state"]

    @property
    def is_claim(self) -> bool:
        """Whether a job was given to an agent."""
        return self.what == "job" and self.state == "running" and self.was != "running"

    @property
    def is_end(self) -> bool:
        """Whether an attempt ended."""
        return self.what == "job" and self.was == "running" and self.state != "running"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the rows alone cannot tell."""

    keys: Mapping[int, str] = field(default_factory=dict)
    """Jobs that were acknowledged to who enqueued them under these keys of their own."""
    unique: Sequence[tuple[int, str]] = ()
    """Jobs that were given to who asked for one with this unique key."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """Of queues."""
    calm_at: int = 0
    """When faults had stopped: what was due by then has been fired since."""


History = list[Step]


def rows_of(steps: History) -> dict[int, dict[str, Any]]:
    """The rows of jobs as they are at the end."""
    rows: dict[int, dict[str, Any]] = {}
    for step in changes(steps, "job"):
        if step.new is not None:
            rows[step.new["id"]] = step.new
        elif step.old is not None:
            rows.pop(step.old["id"], None)
    return rows


def changes(steps: History, what: str) -> Iterator[Step]:
    """Those of one kind of rows."""
    return (step for step in steps if step.what == what)


def id_of(step: Step) -> int:
    """The job that it is about."""
    return int((step.new or step.old or {})["id"])
