"""What the commands show: pure functions from records to rich renderables.

All text that comes from a program goes through `otpy.core.text` into `Text`, which rich prints as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from otpy.cli.columns import GAP, NAME, Layout, Line, Ragged, fits, rows
from otpy.cli.formats import counted, duration
from otpy.core.text import visible, visible_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from otpy.cli.reach import Seen
    from otpy.control.snapshot import Detail, Snapshot, Summary
    from otpy.core.record import ActorRecord, ProcessRecord

__all__ = ["ASCII", "MAX_GUIDES", "UNICODE", "Guides", "info_view", "programs_view", "tree_view"]

STYLES = {
    "starting": "cyan",
    "running": "green",
    "suspended": "yellow",
    "stopping": "yellow",
    "restarting": "yellow",
    "stopped": "dim",
    "failed": "red",
    "silent": "red",
    "zombie": "red",
}


@dataclass(frozen=True, slots=True)
class Guides:
    """What a tree's lines are drawn with."""

    child: str
    """Before a child that others follow."""
    last: str
    """Before the last child."""
    pass_by: str
    """Below a child that others follow."""
    empty: str
    """Below the last child."""


UNICODE = Guides("├── ", "└── ", "│   ", "    ")
ASCII = Guides("|-- ", "`-- ", "|   ", "    ")

MEBIBYTE = 1024 * 1024
MAX_GUIDES = 200
"""Characters of guides before a name; a tree that deep shows on no screen."""

TREE = Layout(
    ("kind", "state", "up", "restarts", "queue", "note"),
    ("kind", "up", "restarts", "queue", "note"),
    least_name=16,
    least_last=32,
)
PROGRAMS = Layout(
    ("pid", "up", "actors", "threads", "zombies", "control", "otpy", "command"), ("otpy", "threads"), least_last=32
)


@dataclass(slots=True)
class _Node:
    record: ActorRecord
    children: list[_Node] = field(default_factory=list)


def tree_view(snapshot: Snapshot, *, width: int, guides: Guides = UNICODE) -> RenderableType:
    """The live tree, one actor a line, no line wider than `width`."""
    lines = list(_drawn(_arranged(snapshot.records), guides))
    parts: list[RenderableType] = [*_ending(snapshot.system), *([rows(lines, width, TREE)] if lines else [])]
    if snapshot.left_out:
        parts.append(Text(f"{counted(snapshot.left_out, 'actor')} left out: name a part of the tree, or lower --limit"))
    if snapshot.zombies:
        head = f"{counted(len(snapshot.zombies), 'zombie')}: killed, but the thread has not come back"
        parts += [
            Text(""),
            Text(head, style="red"),
            rows([_zombie(record) for record in snapshot.zombies], width, TREE),
        ]
    return Group(*parts)


def _ending(system: Summary) -> Iterator[Text]:
    """That a program was told to stop, by whom, and how long it may take."""
    if system.draining is not None:
        left = "" if system.left is None else f"; {duration(system.left)} left"
        yield Text(f"{visible(system.name)} drains: {visible(system.draining)}{left}", style="yellow")


def programs_view(programs: Sequence[Seen], *, width: int) -> RenderableType:
    """Running programs, one a line; a command that is too long loses its folder, then its end."""
    head = Line(NAME, {title: title for title in PROGRAMS.columns}, style="bold")
    lines = [head, *map(_program_line, programs)]
    if not fits(lines, width, PROGRAMS):
        for line in lines[1:]:
            line.cells["command"] = _without_folder(line.cells["command"])
    return rows(lines, width, PROGRAMS)


def _without_folder(command: str) -> str:
    """The command as somebody would say it: `otpy run shop:Shop` for `/srv/shop/.venv/bin/otpy run shop:Shop`."""
    program, space, rest = command.partition(" ")
    return f"{program.rpartition('/')[2]}{space}{rest}"


def info_view(detail: Detail) -> RenderableType:
    """All that is published of one actor."""
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _facts(detail.record):
        table.add_row(Text(name, style="bold"), Text(value))
    if detail.stack is None:
        return Ragged(table)
    return Group(Ragged(table), Text(""), Text("stack", style="bold"), Text(visible_lines(detail.stack)))


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


def _drawn(roots: list[_Node], guides: Guides) -> Iterator[Line]:
    """Every line from top to bottom; an explicit stack, for a tree may be deeper than Python recurses."""
    waiting: list[tuple[str, str, _Node | int]] = [("", "", root) for root in reversed(roots)]
    while waiting:
        branch, below, item = waiting.pop()
        if isinstance(item, int):
            yield Line(f"{branch}… {item:,} more".replace(",", " "), style="dim")
            continue
        yield _actor(branch + visible(item.record.id or "?"), item.record)
        below_it: list[_Node | int] = [*item.children]
        if (missing := item.record.children - len(item.children)) > 0:
            below_it.append(missing)
        for place, child in enumerate(reversed(below_it)):
            this, under = (guides.last, guides.empty) if place == 0 else (guides.child, guides.pass_by)
            waiting.append(((below + this)[-MAX_GUIDES:], (below + under)[-MAX_GUIDES:], child))


def _actor(name: str, record: ActorRecord) -> Line:
    is_worker = record.type != "supervisor"
    # A supervisor at rest is better told by its strategy.
    at_rest = record.strategy is not None and record.status in {"idle", "running"}
    cells = {
        "kind": visible(record.kind),
        "state": visible((record.strategy if at_rest else record.status) or "?"),
        "up": f"up {duration(record.uptime)}" if record.number else "",
        "restarts": f"restarts {record.restarts}" if is_worker or record.restarts else "",
        "queue": f"queue {record.queue}" if is_worker or record.queue else "",
        "note": "  ".join(_notes(record)),
    }
    # The class may go on a narrow screen, and what the actor says of itself beside it, as `Breaker open`, may not.
    said = {"kind": cells["kind"].partition(" ")[2]}
    return Line(name, cells, styles={} if at_rest else {"state": STYLES.get(record.status, "")}, kept=said)


def _zombie(record: ActorRecord) -> Line:
    line = _actor(visible(record.path), record)
    where = f"on {visible(record.thread)}" if record.thread else ""
    note = f"{line.cells['note']}  {where}".strip()
    line.cells = {"kind": line.cells["kind"], "state": line.cells["state"], "note": note}
    return line


def _notes(record: ActorRecord) -> Iterator[str]:
    if record.type == "supervisor":
        yield counted(record.children, "child")
    if record.next_start is not None:
        yield f"starts in {duration(record.next_start)}"
    if record.suspended is not None:
        yield f"suspended {duration(record.suspended)}"
    if record.trouble:
        yield visible(record.trouble, 80)
    elif record.process is not None and record.process.problem is not None:
        yield f"process {record.process.pid} does not answer"
    if record.busy is not None:
        yield f"busy {duration(record.busy)}"
        if record.current:
            yield visible(record.current, 60)


def _program_line(seen: Seen) -> Line:
    texts = {"pid": str(seen.pid or "?"), "command": visible(seen.problem or "")}
    if seen.summary is not None:
        counts = seen.summary.counts
        texts |= {word: str(counts.get(word, "?")) for word in ("actors", "threads", "zombies")}
        texts |= {"up": duration(seen.summary.uptime), "control": visible(seen.rights)}
        texts |= {"otpy": visible(seen.summary.version), "command": visible(seen.summary.command)}
        if seen.summary.draining is not None:
            texts["command"] = f"(drains: {visible(seen.summary.draining)}) {texts['command']}"
    return Line(visible(seen.name), texts)


def _facts(record: ActorRecord) -> Iterator[tuple[str, str]]:
    yield "path", visible(record.path)
    yield "runs", f"{visible(record.kind)}, a {visible(record.type)} on {visible(record.place)}"
    yield "state", visible(record.status)
    yield "name", visible(record.name or "none")
    yield "up", f"{duration(record.uptime)}, as #{record.number}" if record.number else "no process"
    yield "restarts", str(record.restarts)
    if record.next_start is not None:
        yield "next start", f"in {duration(record.next_start)}"
    yield "last exit", visible(record.last_exit or "none", 500)
    yield "queue", counted(record.queue, "message")
    yield "busy", "no" if record.busy is None else f"for {duration(record.busy)}"
    yield "message", visible(record.current or "none")
    if record.trouble:
        yield "trouble", visible(record.trouble, 500)
    if record.max_concurrency > 1:
        yield "in flight", f"{record.handlers} of {record.max_concurrency}"
    elif record.waiting:
        yield "waits for", visible(record.waiting, 500)
    if record.suspended is not None:
        yield "suspended", f"for {duration(record.suspended)}"
    yield "thread", visible(record.thread or "none")
    if record.type == "supervisor":
        yield "strategy", visible(record.strategy or "none")
        yield "children", str(record.children)
    yield "traps exits", "yes" if record.trap_exit else "no"
    yield "links", _listed(record.links)
    yield "monitors", str(record.monitors)
    yield "resources", _listed(record.resources)
    yield "timers", str(record.timers)
    if record.saved is not None:
        yield "state saved", f"{duration(record.saved)} ago"
    if record.process is not None:
        yield from _process_facts(record.process)


def _process_facts(process: ProcessRecord) -> Iterator[tuple[str, str]]:
    yield "process", str(process.pid or "being started")
    yield "memory", f"{process.memory_bytes / MEBIBYTE:.1f} MiB"
    yield "cpu", f"{process.cpu:.2f} s"
    if process.limits:
        yield "limits", ", ".join(visible(limit, 80) for limit in process.limits)
    if process.problem is not None:
        yield "inside", f"not seen: it is {visible(process.problem, 500)}"


def _listed(words: Sequence[str]) -> str:
    shown = [visible(word, 80) for word in words[:20]] + ["…"] * (len(words) > 20)  # noqa: PLR2004 - said once
    return ", ".join(shown) or "none"
