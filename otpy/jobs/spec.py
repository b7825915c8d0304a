"""`JobSpec`: one job that may be enqueued, and what is written down of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, Unpack, cast

from otpy.core.number import is_number
from otpy.core.suggest import did_you_mean
from otpy.core.text import safe_repr
from otpy.errors import SpecError, UnknownOptionError
from otpy.jobs.decisions import MOST_SECONDS
from otpy.jobs.declared import is_seconds, is_text
from otpy.jobs.model.new import NewJob

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from otpy.jobs.kind import Kind
    from otpy.jobs.model.new import Unique

__all__ = ["JobSpec", "check_words", "job_specs", "new_job"]

R = TypeVar("R")

MOST_PRIORITY = 1_000_000
"""Either way; far enough, and each step of ageing goes through one."""


class SpecWords(TypedDict, total=False):
    """What `JobSpec.opts` takes."""

    delay: float
    priority: int
    key: str
    tenant: str
    deadline: float
    start_within: float | None
    queue: str
    version: str


@dataclass(frozen=True, slots=True)
class JobSpec(Generic[R]):
    """One job that may be enqueued: its kind and its arguments. A value; `opts` gives another."""

    kind: Kind[..., R]
    args: bytes = field(repr=False)
    """Encoded already: what cannot be carried is refused where it is written."""
    queue: str
    delay: float = 0.0
    """Seconds before which it does not start."""
    priority: int = 0
    """Less is sooner."""
    key: str | None = None
    """The caller's own: a second enqueue with it gives the first job."""
    tenant: str = ""
    """Who shares the queue fairly with others."""
    deadline: float | None = None
    """Seconds after which it is dead, however far it is; None means never."""
    unique: Unique | None = None
    start_within: float | None = None
    """Seconds from when it is due after which it is dead if nobody has begun it; None means never."""
    version: str = ""
    """Of the program that does it, and no other one; empty: of the one that is active, or any while none is."""

    def opts(self, **words: Unpack[SpecWords]) -> JobSpec[R]:
        """The same job with other options.

        Raises:
            SpecError: a value that cannot be; an option that there is not.
        """
        check_words(self.kind.name, words, SpecWords)
        changed = replace(self, **words)
        problem = changed.problem()
        if problem is not None:
            raise SpecError(self.kind.name, problem)
        return changed

    def problem(self) -> str | None:
        """Why it cannot be used, and the mend; None when it can."""
        return next(self._problems(), None)

    def _problems(self) -> Iterator[str]:
        if not _is_time(self.delay):
            yield f"delay={safe_repr(self.delay)}: seconds >= 0"
        for name in ("deadline", "start_within"):
            value = getattr(self, name)
            if value is not None and not is_seconds(value):
                yield f"{name}={safe_repr(value)}: seconds > 0, or None"
        if self.key is not None and not is_text(self.key):
            yield f"key={safe_repr(self.key)}: a text, or None"
        if type(self.priority) is not int or abs(self.priority) > MOST_PRIORITY:
            yield f"priority={safe_repr(self.priority)}: a whole number, less is sooner"
        if not is_text(self.queue):
            yield f"queue={safe_repr(self.queue)}: a text"
        for name in ("tenant", "version"):
            value = getattr(self, name)
            if value != "" and not is_text(value):
                yield f"{name}={safe_repr(value)}: a text"


def check_words(where: str, words: Collection[str], known: type) -> None:
    """Refuse options that a TypedDict has not. Raises UnknownOptionError."""
    for word in words:
        if word not in known.__annotations__:
            raise UnknownOptionError(where, word, did_you_mean(word, known.__annotations__))


def job_specs(specs: Iterable[object]) -> list[JobSpec[Any]]:
    """What can be enqueued. Raises TypeError: one of them is something else."""
    found = list(specs)
    for one in found:
        if not isinstance(one, JobSpec):
            text = f"{safe_repr(one)} is no job: a job is what new(…) of a function under @jobs.job gives"
            raise TypeError(text)
    return cast("list[JobSpec[Any]]", found)


def new_job(spec: JobSpec[Any], now: int) -> NewJob:
    """What is written down of a job that is enqueued now."""
    kind, run_at = spec.kind, now + round(spec.delay * 1_000)
    return NewJob(
        kind=kind.name,
        queue=spec.queue,
        args=spec.args,
        run_at=run_at,
        priority=spec.priority,
        tenant=spec.tenant,
        version=spec.version,
        needs=kind.needs,
        unique=spec.unique,
        key=spec.key,
        max_errors=kind.retry.errors,
        max_crashes=kind.retry.crashes,
        timeout_ms=None if kind.timeout is None else round(kind.timeout * 1_000),
        deadline_at=None if spec.deadline is None else now + round(spec.deadline * 1_000),
        start_by=None if spec.start_within is None else run_at + round(spec.start_within * 1_000),
    )


def _is_time(value: object) -> bool:
    return is_number(value) and 0 <= value < MOST_SECONDS
