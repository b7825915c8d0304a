"""What the commands show: pure functions from records to rich renderables.

All text that comes from a program goes through `otpy.core.text` into `Text`, which rich prints as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Group
from rich.table import Table
from rich.text import Text

from otpy.cli.formats import counted, duration
from otpy.core.text import visible, visible_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from otpy.cli.reach import Seen
    from otpy.control.snapshot import Detail, Snapshot
    from otpy.core.record import ActorRecord

__all__ = ["ASCII", "UNICODE", "Guides", "info_view", "programs_view", "tree_view"]

GAP = 2
"""Columns between two columns."""

STYLES = {
    "starting": "cyan",
    "running": "green",
    "suspended": "yellow",
    "stopping": "yellow",
    "restarting": "yellow",
    "stopped": "dim",
    "zombie": "red",
}


@dataclass(frozen=True, slots=True)
class Guides:
    """What a tree's lines are drawn with."""

    child: str
    last: str
    pass_by: str
    empty: str


UNICODE = Guides("├── ", "└── ", "│   ", "    ")
ASCII = Guides("|-- ", "`-- ", "|   ", "    ")

NAME = "name"
PROGRAM_COLUMNS = ("pid", "up", "actors", "threads", "zombies", "control", "otpy", "command")
MAX_GUIDES = 200
"""Characters of guides before a name; a tree that deep shows on no screen."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """The columns after the name, and what happens to them on a narrow screen."""

    columns: tuple[str, ...]
    give_way: tuple[str, ...]
    """These go, in this order."""
    least_name: int
    """Then names shrink to this many columns, if that helps."""


TREE = _Layout(
    ("kind", "state", "up", "restarts", "queue", "note"), ("kind", "up", "restarts", "queue", "note"), least_name=16
)
PROGRAMS = _Layout(PROGRAM_COLUMNS, (), least_name=1_000)


@dataclass(slots=True)
class _Node:
    record: ActorRecord
    children: list[_Node] = field(default_factory=list)


@dataclass(slots=True)
class _Line:
    """One line of the tree: a drawn name, and its other cells by column."""

    name: Text
    cells: dict[str, Text] = field(default_factory=dict)


def tree_view(snapshot: Snapshot, *, width: int, guides: Guides = UNICODE) -> RenderableType:
    """The live tree, one actor a line, no line wider than `width`."""
    lines = list(_drawn(_arranged(snapshot.records), guides))
    parts: list[RenderableType] = [_rows(lines, width, TREE)] if lines else []
    if snapshot.left_out:
        parts.append(Text(f"{counted(snapshot.left_out, 'actor')} left out: name a part of the tree, or lower --limit"))
    if snapshot.zombies:
        head = f"{counted(len(snapshot.zombies), 'zombie')}: killed, but the thread has not come back"
        zombies = [_Line(Text(visible(record.path)), _zombie_cells(record)) for record in snapshot.zombies]
        parts += [Text(""), Text(head, style="red"), _rows(zombies, width, TREE)]
    return Group(*parts)


def programs_view(programs: Sequence[Seen], *, width: int) -> RenderableType:
    """Running programs, one a line; a long command is cut at the edge."""
    head = _Line(Text(NAME, style="bold"), {title: Text(title, style="bold") for title in PROGRAM_COLUMNS})
    return _rows([head, *map(_program_line, programs)], width, PROGRAMS)


def info_view(detail: Detail) -> RenderableType:
    """All that is published of one actor."""
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _facts(detail.record):
        table.add_row(Text(name, style="bold"), Text(value))
    if detail.stack is None:
        return table
    return Group(table, Text(""), Text("stack", style="bold"), Text(visible_lines(detail.stack)))


def _arranged(records: Sequence[ActorRecord]) -> list[_Node]:
    """The trees that depth-first records describe; one whose parent is not among them stands on its own."""
    roots: list[_Node] = []
    seen: dict[str, _Node] = {}
    for record in records:
        node = _Node(record)
        parent = seen.get(record.path.removesuffix(f"/{record.id}")) if record.path != record.id else None
        (parent.children if parent else roots).append(node)
        seen[record.path] = node
    return roots


def _drawn(roots: list[_Node], guides: Guides) -> Iterator[_Line]:
    """Every line from top to bottom; an explicit stack, for a tree may be deeper than Python recurses."""
    waiting: list[tuple[str, str, _Node | int]] = [("", "", root) for root in reversed(roots)]
    while waiting:
        branch, below, item = waiting.pop()
        if isinstance(item, int):
            yield _Line(Text(f"{branch}… {item:,} more".replace(",", " "), style="dim"))
            continue
        yield _Line(Text(branch + visible(item.record.id or "?")), _cells(item.record))
        below_it: list[_Node | int] = [*item.children]
        if (missing := item.record.children - len(item.children)) > 0:
            below_it.append(missing)
        for place, child in enumerate(reversed(below_it)):
            this, under = (guides.last, guides.empty) if place == 0 else (guides.child, guides.pass_by)
            waiting.append(((below + this)[-MAX_GUIDES:], (below + under)[-MAX_GUIDES:], child))


def _cells(record: ActorRecord) -> dict[str, Text]:
    is_worker = record.type != "supervisor"
    return {
        "kind": Text(visible(record.kind)),
        "state": _state(record),
        "up": Text(f"up {duration(record.uptime)}" if record.number else ""),
        "restarts": Text(f"restarts {record.restarts}" if is_worker or record.restarts else ""),
        "queue": Text(f"queue {record.queue}" if is_worker or record.queue else ""),
        "note": Text("  ".join(_notes(record))),
    }


def _zombie_cells(record: ActorRecord) -> dict[str, Text]:
    cells = _cells(record)
    where = f"on {visible(record.thread)}" if record.thread else ""
    return {"kind": cells["kind"], "state": cells["state"], "note": Text(f"{cells['note'].plain}  {where}".strip())}


def _state(record: ActorRecord) -> Text:
    """A supervisor at rest is better told by its strategy."""
    at_rest = record.strategy is not None and record.status in {"idle", "running"}
    word = record.strategy if at_rest else record.status
    return Text(visible(word or "?"), style="" if at_rest else STYLES.get(record.status, ""))


def _notes(record: ActorRecord) -> Iterator[str]:
    if record.type == "supervisor":
        yield counted(record.children, "child")
    if record.busy is not None:
        yield f"busy {duration(record.busy)}"
        if record.current:
            yield visible(record.current, 60)


def _rows(lines: Sequence[_Line], width: int, layout: _Layout) -> RenderableType:
    """The lines in columns, none wider than `width`: columns give way, then the names, then the ends of lines."""
    widths = _column_widths(lines, width, layout)
    return Text("\n").join(_row(line, widths, width) for line in lines)


def _row(line: _Line, widths: dict[str, int], width: int) -> Text:
    row = Text(no_wrap=True)
    for column, cells in widths.items():
        cell = line.name.copy() if column == NAME else line.cells.get(column, Text("")).copy()
        cell.truncate(cells, overflow="ellipsis", pad=True)
        row.append_text(cell).append(" " * GAP)
    row.rstrip()
    row.truncate(width, overflow="ellipsis")
    return row


def _column_widths(lines: Sequence[_Line], width: int, layout: _Layout) -> dict[str, int]:
    """The columns that fit, in order, with their widths."""
    widths = {NAME: max((cell_len(line.name.plain) for line in lines), default=0)}
    for column in layout.columns:
        widths[column] = max((cell_len(line.cells[column].plain) for line in lines if column in line.cells), default=0)
    for column in layout.give_way:
        if _total(widths) > width:
            widths[column] = 0
    too_wide = max(0, _total(widths) - width)
    widths[NAME] = max(min(widths[NAME], layout.least_name), widths[NAME] - too_wide)
    return {column: cells for column, cells in widths.items() if cells}


def _total(widths: dict[str, int]) -> int:
    return sum(cells + GAP for cells in widths.values() if cells) - GAP


def _program_line(seen: Seen) -> _Line:
    texts = {"pid": str(seen.pid or "?"), "command": visible(seen.problem or "")}
    if seen.summary is not None:
        counts = seen.summary.counts
        texts |= {word: str(counts.get(word, "?")) for word in ("actors", "threads", "zombies")}
        texts |= {"up": duration(seen.summary.uptime), "control": visible(seen.rights)}
        texts |= {"otpy": visible(seen.summary.version), "command": visible(seen.summary.command)}
    return _Line(Text(visible(seen.name)), {column: Text(text) for column, text in texts.items()})


def _facts(record: ActorRecord) -> Iterator[tuple[str, str]]:
    yield "path", visible(record.path)
    yield "runs", f"{visible(record.kind)}, a {visible(record.type)} on {visible(record.place)}"
    yield "state", visible(record.status)
    yield "name", visible(record.name or "none")
    yield "up", f"{duration(record.uptime)}, incarnation {record.number}" if record.number else "no process"
    yield "restarts", str(record.restarts)
    yield "last exit", visible(record.last_exit or "none", 500)
    yield "queue", counted(record.queue, "message")
    yield "busy", "no" if record.busy is None else f"for {duration(record.busy)}"
    yield "message", visible(record.current or "none")
    yield "thread", visible(record.thread or "none")
    if record.type == "supervisor":
        yield "strategy", visible(record.strategy or "none")
        yield "children", str(record.children)
    yield "traps exits", "yes" if record.trap_exit else "no"
    yield "links", _listed(record.links)
    yield "monitors", str(record.monitors)
    yield "resources", _listed(record.resources)


def _listed(words: Sequence[str]) -> str:
    shown = [visible(word, 80) for word in words[:20]] + ["…"] * (len(words) > 20)  # noqa: PLR2004 - said once
    return ", ".join(shown) or "none"
