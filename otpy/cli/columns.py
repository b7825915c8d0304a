"""Lines in columns that fit a screen: pure functions from plain cells to `Text`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

__all__ = ["GAP", "NAME", "Layout", "Line", "Ragged", "fits", "hanging", "rows"]

NAME = "name"
"""The first column, which every line has."""
GAP = 2
"""Columns between two columns."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns after the name, and what happens to them on a narrow screen."""

    columns: tuple[str, ...]
    give_way: tuple[str, ...] = ()
    """These go, in this order."""
    least_name: int = 1_000
    """Then names shrink to this many columns, if that helps."""
    least_last: int = 1_000
    """No column gives way so that the last one has more than this; what is longer is cut at the edge."""


@dataclass(slots=True)
class Line:
    """One line: its name, and its other cells by column; all of them are safe to print."""

    name: str
    cells: dict[str, str] = field(default_factory=dict)
    style: str = ""
    """Of the whole line."""
    styles: dict[str, str] = field(default_factory=dict)
    """Of single cells."""
    kept: dict[str, str] = field(default_factory=dict)
    """By column: what the last cell begins with once that column has given way."""


class Ragged:
    """Something drawn by rich without the blanks it fills its lines up with: they wrap on a narrower screen."""

    def __init__(self, inner: RenderableType) -> None:
        """Draw `inner`."""
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in console.render_lines(self._inner, options, pad=False):
            while line and not line[-1].text.strip(" "):
                line.pop()
            if line:
                text, style, control = line.pop()
                line.append(Segment(text.rstrip(" "), style, control))
            yield from line
            yield Segment.line()


def hanging(mark: Text, text: str) -> RenderableType:
    """A sentence behind its mark; what does not fit on one line goes on below it, and not below the mark."""
    table = Table.grid()
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(mark, Text(text))
    return Ragged(table)


def rows(lines: Sequence[Line], width: int, layout: Layout) -> Text:
    """The lines in columns, none wider than `width`: columns give way, then the names, then the ends of lines."""
    lines, widths = _fitted(lines, width, layout)
    return Text("\n").join([_row(line, widths, width) for line in lines])


def fits(lines: Sequence[Line], width: int, layout: Layout) -> bool:
    """Whether all of it fits, and nothing would be cut or give way."""
    return _total({column: _widest(lines, column) for column in (NAME, *layout.columns)}) <= width


def _row(line: Line, widths: dict[str, int], width: int) -> Text:
    row = Text(style=line.style)
    for column, cells in widths.items():
        text = line.name if column == NAME else line.cells.get(column, "")
        row.append(_cut(text, cells), line.styles.get(column))
        row.append(" " * GAP)
    row.rstrip()
    row.truncate(width, overflow="ellipsis")
    return row


def _cut(text: str, cells: int) -> str:
    """The text in exactly so many columns, padded, or cut with an ellipsis."""
    return set_cell_size(text, cells) if cell_len(text) <= cells else set_cell_size(text, cells - 1) + "…"


def _fitted(lines: Sequence[Line], width: int, layout: Layout) -> tuple[Sequence[Line], dict[str, int]]:
    """The lines, and the columns that fit, in order, with their widths."""
    last, gone = layout.columns[-1], set[str]()
    widths = {column: _widest(lines, column) for column in (NAME, *layout.columns)}
    for column in layout.give_way:
        if _needed(widths, layout) > width:
            widths[column] = 0
            gone.add(column)
            lines = [_folded(line, column, last) for line in lines]
            widths[last] = _widest(lines, last) if last not in gone else 0
    too_wide = max(0, _needed(widths, layout) - width)
    widths[NAME] = max(min(widths[NAME], layout.least_name), widths[NAME] - too_wide)
    return lines, {column: cells for column, cells in widths.items() if cells}


def _widest(lines: Sequence[Line], column: str) -> int:
    return max((cell_len(line.name if column == NAME else line.cells.get(column, "")) for line in lines), default=0)


def _folded(line: Line, column: str, last: str) -> Line:
    """The line without that column: what it keeps of it begins its last cell."""
    if not (kept := line.kept.get(column)):
        return line
    rest = line.cells.get(last)
    return replace(line, cells=line.cells | {last: f"{kept}{' ' * GAP}{rest}" if rest else kept})


def _needed(widths: dict[str, int], layout: Layout) -> int:
    last = layout.columns[-1]
    return _total(widths | {last: min(widths[last], layout.least_last)})


def _total(widths: dict[str, int]) -> int:
    return sum(cells + GAP for cells in widths.values() if cells) - GAP
