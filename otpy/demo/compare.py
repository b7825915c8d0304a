"""The plain loop, and whether the agents found the same; pure but for the reading itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from otpy.demo.files import Count, File, Problem, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Comparison", "Result", "compare", "plain_loop", "total"]

Result = tuple[File, Count | Problem]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two readings of one list, side by side."""

    agents: Count
    """What the agents counted, without `changed`."""
    plain: Count
    """What the plain loop counted, without `changed`."""
    problems: tuple[Problem, ...]
    """What neither could read."""
    changed: tuple[Problem, ...]
    """What only one of them could read: these files changed or vanished in between, and count for neither."""

    @property
    def is_equal(self) -> bool:
        """Whether both counted the same."""
        return self.agents == self.plain


def plain_loop(files: Iterable[File]) -> Iterator[Result]:
    """Read file after file, as a program without actors would."""
    for file in files:
        yield file, read(file)


def compare(agents: Iterable[Result], plain: Iterable[Result]) -> Comparison:
    """Put both side by side; a result that an agent delivered twice makes them unequal."""
    agents, plain = list(agents), list(plain)
    unread, plainly_unread = _problems(agents), _problems(plain)
    changed = unread.keys() ^ plainly_unread.keys()
    both = unread | plainly_unread
    return Comparison(
        total(result for result in agents if result[0].path not in changed),
        total(result for result in plain if result[0].path not in changed),
        tuple(problem for path, problem in both.items() if path not in changed),
        tuple(problem for path, problem in both.items() if path in changed),
    )


def total(results: Iterable[Result]) -> Count:
    """The sum of all that was counted."""
    return sum((found for _, found in results if isinstance(found, Count)), Count())


def _problems(results: Iterable[Result]) -> dict[str, Problem]:
    return {file.path: found for file, found in results if isinstance(found, Problem)}
