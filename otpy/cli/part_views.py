"""Views of declared trees: pure functions from parts and findings to rich."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from otpy.cli.columns import Layout, Line, rows
from otpy.cli.views import MAX_GUIDES
from otpy.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from otpy.cli.views import Guides
    from otpy.core.part import Finding, Part

__all__ = ["check_view"]

COLUMNS = Layout(("kind", "kept", "limit", "stop", "note"), ("kind", "stop", "limit"), least_name=16)
STYLES = {"error": "red", "warning": "yellow"}


def check_view(root: Part | None, findings: Sequence[Finding], width: int, guides: Guides) -> RenderableType:
    """A declared tree, one part a line, and below it what was found."""
    parts: list[RenderableType] = []
    if root is not None:
        parts += [rows(list(_drawn(root, guides)), width, COLUMNS), Text("")]
    for finding in findings:
        line = Text(f"{finding.level:<8}", style=STYLES[finding.level])
        parts.append(line.append(f"{visible(finding.path, 500)}: {visible(finding.text, 2_000)}", style="default"))
    return Group(*parts)


def _drawn(part: Part, guides: Guides, branch: str = "", below: str = "") -> Iterator[Line]:
    """Its line, and those below it; a tree is at most a hundred levels deep."""
    own_id = part.path.rpartition("/")[2]
    yield Line(branch + visible(own_id or "?"), _cells(part))
    for place, child in enumerate(part.children, 1):
        this, under = (guides.last, guides.empty) if place == len(part.children) else (guides.child, guides.pass_by)
        yield from _drawn(child, guides, (below + this)[-MAX_GUIDES:], (below + under)[-MAX_GUIDES:])


def _cells(part: Part) -> dict[str, str]:
    flags, options = part.flags, part.options
    significant = " significant" if options.significant else ""
    note = f"name {visible(part.name)}" if part.name else ""
    if part.unknown is not None:
        note = f"{note}  children unknown".strip()
    return {
        "kind": visible(part.kind),
        "kept": f"{visible(options.restart)}{significant}",
        "limit": "" if flags is None else f"{flags.strategy} {flags.max_restarts} in {flags.max_seconds:g}s",
        "stop": _stop(part),
        "note": note,
    }


def _stop(part: Part) -> str:
    if part.shutdown == math.inf:
        return "" if part.is_supervisor else "stop waits"
    return f"stop {part.shutdown:g}s" if part.shutdown else "killed"
