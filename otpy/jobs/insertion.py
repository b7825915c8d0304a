"""What a caller wants enqueued, as the writer does it: those of all who share a commit go to the store together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from otpy.jobs.errors import KeyTakenError
from otpy.jobs.spec import new_job

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from otpy.jobs.model.new import Inserted
    from otpy.jobs.spec import JobSpec
    from otpy.jobs.store.protocol import Transaction

__all__ = ["Enqueued", "Insertion", "do_all", "parted"]

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Enqueued:
    """What an enqueue gave."""

    id: int
    """The job's number, for `get`, `cancel` and people."""
    is_new: bool = True
    """Whether it was enqueued now; False when a job with the same key was there, and this is its number."""


class Insertion:
    """One request to enqueue: a step like any other, whose rows may stand in one statement with those of others."""

    __slots__ = ("specs",)

    def __init__(self, specs: Sequence[JobSpec[Any]]) -> None:
        """Of these, all or none."""
        self.specs = specs

    def __call__(self, tx: Transaction) -> list[Enqueued]:
        """Do it alone. Raises KeyTakenError, which rolls back: the writer does the requests of others without it."""
        return self.told(iter(tx.insert([new_job(spec, tx.now) for spec in self.specs])))

    def told(self, made: Iterator[Inserted]) -> list[Enqueued]:
        """Take what came of its own off the front. Raises KeyTakenError."""
        return [_enqueued(spec, next(made)) for spec in self.specs]


def do_all(tx: Transaction, steps: Sequence[Callable[[Transaction], Any]]) -> list[Any]:  # Any: what each step returns
    """Do what several callers want; insertions come first, for none of these callers knows of another's request."""
    news = [new_job(spec, tx.now) for step in steps if type(step) is Insertion for spec in step.specs]
    made = iter(tx.insert(news)) if news else iter(())
    return [step.told(made) if type(step) is Insertion else step(tx) for step in steps]


def parted(waiting: Sequence[tuple[C, Callable[[Transaction], Any]]]) -> tuple[list[Any], list[Any]]:
    """What several want: all but new jobs with keys, of which others may have some; and those."""
    parts: tuple[list[Any], list[Any]] = [], []
    for one in waiting:
        step = one[1]
        has_key = type(step) is Insertion and any(spec.key or spec.unique for spec in step.specs)
        parts[has_key].append(one)
    return parts


def _enqueued(spec: JobSpec[Any], one: Inserted) -> Enqueued:
    if one.how == "new":
        return Enqueued(one.id)
    if one.how in ("differs", "refused"):
        raise KeyTakenError(spec.kind.name, _key(spec, one), one.id, is_unique=one.how == "refused")
    return Enqueued(one.id, is_new=False)


def _key(spec: JobSpec[Any], one: Inserted) -> str:
    if one.how == "refused" and spec.unique is not None:
        return spec.unique.key
    return spec.key or ""
