"""Reads `docs/reference/public-reports.md`, and the markers of the tests that it names."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from support.source import ROOT, is_called, tests_that_say

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Mark", "Row", "marks", "rows"]

PAGE = ROOT / "docs/reference/public-reports.md"
LINE = re.compile(r"^\| (?P<row>[A-FJ]\d+) \| (?P<names>.+?) \| (?P<wrong>.+?) \| (?P<here>.+?) \|$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table."""

    row: str
    """Its letter and number."""
    names: tuple[str, ...]
    """The public names of the report."""
    wrong: str
    """What went wrong there."""
    here: str
    """Where it is tested here, or why it is not."""

    @property
    def files(self) -> set[str]:
        """The files of tests that it names."""
        return set(re.findall(r"`(tests/\S+?)`", self.here))


@dataclass(frozen=True, slots=True)
class Mark:
    """One `@pytest.mark.report`."""

    file: str
    """The file it stands in, from the root of the repository."""
    line: int
    """And where."""
    row: str
    """Its first word: the row of the table."""
    names: tuple[str, ...]
    """The others: names of that row's report."""

    def __str__(self) -> str:
        """Name it for whoever has to mend it."""
        return f"{self.file}:{self.line} {self.row} {', '.join(self.names)}"


def rows() -> list[Row]:
    """The table, from the top."""
    found = LINE.finditer(PAGE.read_text())
    return [Row(each["row"], tuple(each["names"].split(", ")), each["wrong"], each["here"]) for each in found]


def marks() -> list[Mark]:
    """Every marker in the sources of the tests, also of single cases of a parametrised one."""
    return [mark for file, tree in tests_that_say("mark.report") for mark in _marks_in(file, tree)]


def _marks_in(file: str, tree: ast.Module) -> Iterator[Mark]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and is_called(node.func, "pytest.mark.report"):
            row, *names = (str(ast.literal_eval(arg)) for arg in node.args)
            yield Mark(file, node.lineno, row, tuple(names))
