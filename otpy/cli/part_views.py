"""Views of declared trees: pure functions from parts and findings to rich."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from otpy.cli.columns import Layout, Line, hanging, rows
from otpy.cli.formats import counted
from otpy.cli.views import MAX_GUIDES
from otpy.core.part import SEALED
from otpy.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from otpy.cli.views import Guides
    from otpy.core.consequences import Threshold
    from otpy.core.part import Finding, Part
    from otpy.core.story import Round, Step

__all__ = ["check_view", "explain_view", "finding_line"]

COLUMNS = Layout(("kind", "kept", "limit", "stop", "note"), ("kind", "stop", "limit"), least_name=16)
STYLES = {"error": "red", "warning": "yellow"}

WORDS = {
    "ended": ("-", "ends"),
    "follows": ("-", "is ended by its link"),
    "stopped": ("-", "is stopped by its supervisor"),
    "started": ("+", "is started"),
    "stays": (" ", "stays without a process"),
    "forgotten": (" ", "is forgotten"),
    "waits": (" ", "waits for its back-off"),
    "given_up": (" ", "is given up: its own limit is passed"),
    "gives_up": ("-", "gives up: its restart limit is passed"),
}
"""How each step is drawn and said."""
THEN = {
    "restarted": "gives up, and is started again by its own supervisor",
    "stays": "gives up, and stays down: its restart type says so",
    "ends_parent": "gives up, and takes its supervisor along: it is significant",
    "given_up": "is given up alone",
    "exit": "gives up, and the program ends with exit code {code}",
}
"""What follows a threshold."""
MAX_NAMES = 20
"""Paths of the untouched that are shown."""


def check_view(root: Part | None, findings: Sequence[Finding], width: int, guides: Guides) -> RenderableType:
    """A declared tree, one part a line, and below it what was found."""
    parts: list[RenderableType] = []
    if root is not None:
        parts += [rows(list(_drawn(root, guides)), width, COLUMNS), Text("")]
    return Group(*parts, *map(finding_line, findings))


def finding_line(finding: Finding) -> RenderableType:
    """What was found, in one line, as long as it fits."""
    mark = Text(f"{finding.level:<8}", style=STYLES[finding.level])
    return hanging(mark, f"{visible(finding.path, 500)}: {visible(finding.text, 2_000)}")


def explain_view(path: str, end: str, rounds: Sequence[Round], passed: Sequence[Threshold]) -> RenderableType:
    """What happens, one step a line, in order; who is not touched; and who gives up when it goes on."""
    text = Text()
    for number, each in enumerate(rounds, 1):
        again = f", the {_nth(number)} time" if len(rounds) > 1 else ""
        text.append(f"{visible(path)} ends ({end}){again}:\n", style="bold")
        for step in each.steps:
            text.append_text(_step(step)).append("\n")
        text.append(f"  not touched: {_names(each.untouched)}\n")
    for threshold in passed:
        window = f"within {threshold.max_seconds:g} s" if threshold is passed[0] else "in a row"
        what = THEN[threshold.then].format(code=threshold.code)
        text.append(f"The {_nth(threshold.count)} time {window} ", style="yellow").append(
            f"{visible(threshold.path)} {what}\n"
        )
    ends = any(step.kind == "exit" for each in rounds for step in each.steps)
    if not (passed or ends):
        text.append("However often it does so, no limit is passed.\n")
    text.rstrip()
    return text


def _step(step: Step) -> Text:
    if step.kind == "exit":
        return Text(f"    the program ends with exit code {step.code}", style="red")
    mark, words = WORDS[step.kind]
    style = {"-": "red", "+": "green"}.get(mark, "yellow")
    return Text(f"  {mark} ", style=style).append(f"{visible(step.path, 500)} {words}", style="default")


def _names(paths: Sequence[str]) -> str:
    shown = ", ".join(visible(path, 500) for path in paths[:MAX_NAMES])
    rest = len(paths) - MAX_NAMES
    return (shown or "nobody") + (f" and {counted(rest, 'other')}" if rest > 0 else "")


def _nth(number: int) -> str:
    """A number as a place in a row: 1st, 2nd, 3rd, 11th."""
    tens = number % 100 // 10
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') if tens != 1 else 'th' }"


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
    return {
        "kind": visible(part.kind),
        "kept": f"{visible(options.restart)}{significant}",
        "limit": "" if flags is None else f"{flags.strategy} {flags.max_restarts} in {flags.max_seconds:g}s",
        "stop": _stop(part),
        "note": "  ".join(_notes(part)),
    }


def _notes(part: Part) -> Iterator[str]:
    backoff, limit = part.options.backoff, part.options.limit
    if part.place != "pool":
        yield f"on {visible(part.place)}"
    if part.name:
        yield f"name {visible(part.name)}"
    if backoff is not None:
        yield f"back-off {backoff.first:g}-{backoff.most:g}s"
    if limit is not None:
        yield f"own limit {limit.max_restarts} in {limit.max_seconds:g}s"
    if part.unknown is not None:
        yield "children not shown" if part.unknown == SEALED else "children unknown"


def _stop(part: Part) -> str:
    if part.shutdown == math.inf:
        return "" if part.is_supervisor else "stop waits"
    return f"stop {part.shutdown:g}s" if part.shutdown else "killed"
