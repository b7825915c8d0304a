"""A declared tree as a value: what is known of each part without starting anything, and what was found about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from otpy.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.core.spec import Options
    from otpy.core.strategy import AutoShutdown, Strategy

__all__ = ["BEYOND", "SEALED", "Finding", "Flags", "Part", "all_parts"]

BEYOND = "there are too many parts before it; a tree of which so many are declared is no tree anybody reads"
"""Why nothing is known of what is below a supervisor that the look at a tree did not come to."""
SEALED = "it is a part of otpy's own, checked as a whole where it was declared"
"""The same of one that the look passes over; nothing is to be doubted of it."""


@value(kw_only=True)
class Flags:
    """What is known of a supervisor."""

    is_dynamic: bool
    """Whether others start its children, which then have numbers for ids and stop at the same time."""
    strategy: Strategy = "one_for_one"
    """Whom a restart takes along."""
    auto_shutdown: AutoShutdown = "never"
    """Whether the end of significant children ends it."""
    max_restarts: int = 3
    """How many restarts it bears."""
    max_seconds: float = 5.0
    """Within which time."""


@value(kw_only=True)
class Part:
    """One actor of a declared tree, and those below it."""

    path: str
    """Where it is going to be; the child of a dynamic supervisor has `*` for its number."""
    id: str
    """The last part of the path; of the root the name of its class."""
    kind: str
    """The class or function it runs."""
    is_supervisor: bool
    """Whether it keeps children."""
    place: str
    """Where it runs."""
    options: Options
    """How it is kept."""
    shutdown: float
    """Seconds it gets to end; 0 for a brutal kill."""
    name: str | None = None
    """The name it registers."""
    flags: Flags | None = None
    """Of a supervisor; None where they cannot be known."""
    children: tuple[Part, ...] = ()
    """In start order; of a dynamic supervisor what it starts each time, if that is declared."""
    unknown: str | None = None
    """Why its children cannot be known without starting it."""
    unseen_stop: float = 0.0
    """Seconds that children may need to stop which are not shown, where that is known all the same."""


@value
class Finding:
    """Something about a tree, declared or running, that somebody should know."""

    level: Literal["error", "warning"]
    """An error keeps the tree from starting, or what runs from its work; a warning is doubtful, and may be meant so."""
    path: str
    """Where."""
    text: str
    """What, and the mend."""

    def __str__(self) -> str:
        return f"{self.path}: {self.text}"


def all_parts(part: Part) -> Iterator[Part]:
    """A part and all below it, depth first in start order."""
    yield part
    for child in part.children:
        yield from all_parts(child)
