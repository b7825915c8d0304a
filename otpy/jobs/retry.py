"""What a failed attempt leads to, as its job declares it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from otpy.core.backoff import Backoff, asked_by
from otpy.core.number import is_number
from otpy.core.text import safe_repr
from otpy.jobs.decisions import MOST_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Action", "Retry"]

Action: TypeAlias = Literal["retry", "fail", "ignore", "dead"]
"""`retry`: another attempt, while there are any; `fail`: none, and nobody needs to look, so the job ends `cancelled`;
`ignore`: the job is done; `dead`: none, and it goes to the dead letters."""

MOST_ATTEMPTS = 1_000_000_000
"""More than there is time for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often a job is tried, and when again: `@jobs.job(retry=jobs.Retry(errors=10))`."""

    errors: int = 5
    """Attempts that may fail; with the last of them the job is dead."""
    crashes: int = 3
    """Attempts that may take their agent or their program along; counted apart, for they harm others."""
    backoff: Backoff = field(default_factory=lambda: Backoff(first=2.0, factor=2.0, most=600.0))
    """The pauses, with full jitter: jobs that failed together must not come back together."""
    table: Mapping[type[BaseException], Action] = field(default_factory=dict)
    """What to do for an error of this class; the nearest class of those that fit decides."""
    retry_after: Callable[[BaseException], object] | None = None
    """Tells of an error how many seconds it asks for (`Retry-After`), or None; by default its `retry_after` does."""

    def action(self, error: BaseException) -> Action:
        """What the table says of an error."""
        return next((self.table[kind] for kind in type(error).__mro__ if kind in self.table), "retry")

    def wish(self, error: BaseException) -> float | None:
        """The seconds that it asks for, when that is a sound number."""
        wish = (self.retry_after or asked_by)(error)
        return float(wish) if is_number(wish) and 0 <= wish < MOST_SECONDS else None

    def problem(self) -> str | None:
        """Why it cannot be used, and the mend; None when it can."""
        return next(self._problems(), None)

    def _problems(self) -> Iterator[str]:
        for name, value in (("errors", self.errors), ("crashes", self.crashes)):
            if type(value) is not int or not 0 < value < MOST_ATTEMPTS:
                yield f"{name}={value!r}: a whole number >= 1"
        if not isinstance(self.backoff, Backoff):
            yield f"backoff={self.backoff!r}: an otpy.Backoff"
        if self.retry_after is not None and not callable(self.retry_after):
            yield f"retry_after={safe_repr(self.retry_after)}: a function of an error, or None"
        if not isinstance(self.table, Mapping):
            yield f"table={safe_repr(self.table)}: a dict of classes of errors"
        yield from _wrong(self.table)
        problem = self.backoff.problem()
        if problem is not None:
            yield problem
        if self.backoff.most >= MOST_SECONDS:
            yield f"backoff: most={self.backoff.most!r}: less than {MOST_SECONDS:g} seconds"


def _wrong(table: Mapping[type[BaseException], Action]) -> Iterator[str]:
    for kind, action in table.items():
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            yield f"table: {kind!r} is no class of errors"
        if action not in get_args(Action):
            yield f"table: {action!r}: one of {', '.join(get_args(Action))}"
