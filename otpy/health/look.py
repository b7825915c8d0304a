"""What a look at a program's health finds: one line for each thing that is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["HealthLine", "HealthLook", "looked"]


@value(kw_only=True)
class HealthLine:
    """One thing that was looked at."""

    name: str
    """What, as `turns`, `shop/feed`, `database`."""
    problem: str | None = None
    """What is wrong with it, in one line; None when it is well."""
    counts: bool = True
    """Whether its problem makes the whole look one: not so of what was told not to count."""

    def __str__(self) -> str:
        """As a probe shows it."""
        if self.problem is None:
            return f"{self.name}: ok"
        return f"{self.name}: {self.problem}{'' if self.counts else ' (does not count)'}"


@value(kw_only=True)
class HealthLook:
    """How it stands with a program: whether it lives, or whether it is ready."""

    lines: tuple[HealthLine, ...]
    """All that was looked at."""

    @property
    def is_well(self) -> bool:
        """Whether nothing that counts has a problem."""
        return self.problem is None

    @property
    def problem(self) -> str | None:
        """The problems that count, in one line; None when there is none."""
        found = [str(line) for line in self.lines if line.problem is not None and line.counts]
        return "; ".join(found) or None


def looked(lines: Iterable[HealthLine]) -> HealthLook:
    """Those lines, together."""
    return HealthLook(lines=tuple(lines))
