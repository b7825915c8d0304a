"""What `otpy why` shows: a pure function from exits to a rich renderable, one block an exit."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from otpy.cli.columns import GAP, Ragged
from otpy.cli.formats import counted, duration
from otpy.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from otpy.control.snapshot import Exits
    from otpy.core.exits import ExitAction, ExitRecord

__all__ = ["why_view"]

LIMIT = 500
"""Characters of one text."""

RELATIONS = {
    "above": "above it",
    "below": "below it",
    "beside": "took it along",
}


def why_view(exits: Exits) -> RenderableType:
    """The remembered exits, the latest first."""
    if not exits.exits:
        return Text(f"{visible(exits.path)} has not ended, as far as the program remembers")
    parts: list[RenderableType] = []
    for record in exits.exits:
        parts += [Text("")] * bool(parts) + [Text(_head(record), style="bold"), Ragged(_facts_table(record))]
    return Group(*parts)


def _head(record: ExitRecord) -> str:
    related = RELATIONS.get(record.relation)
    note = f" ({related})" if related else ""
    return f"{visible(record.path)}{note} ended {duration(record.ago)} ago: {visible(record.reason, LIMIT)}"


def _facts_table(record: ExitRecord) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _facts(record):
        table.add_row(Text(f"  {name}"), Text(visible(value, LIMIT * 4)))
    return table


def _facts(record: ExitRecord) -> Iterator[tuple[str, str]]:
    up = "" if record.uptime is None else f", after {duration(record.uptime)} up"
    yield "at", f"{_clock_time(record.time)}{up}"
    yield "was", f"{record.kind} #{record.number}"
    for cause in record.causes:
        yield "caused by", cause
    if record.frame:
        yield "where", record.frame
    if record.message:
        yield "during", record.message
    if record.by and not record.origin:
        yield "by", record.by
    for place, origin in enumerate(record.origin):
        yield ("because of" if place == 0 else "and that of"), origin
    if record.took:
        yield "took along", _listed(record.took, record.took_left_out)
    if record.waiting:
        yield "waiting", _listed(record.waiting, record.waiting_left_out)
    if record.queue:
        yield "queue", f"{counted(record.queue, 'message')} not handled"
    for action in record.actions:
        yield "then", _done(action)


def _done(action: ExitAction) -> str:
    match action.what:
        case "stopped others":
            return f"by {action.detail} it took along {_listed(action.others, action.others_left_out)}"
        case "restart":
            return f"its supervisor started it again: restart {action.restart}, {_counted_in_window(action)}"
        case "attempt":
            return f"its supervisor tried in vain to start it again: {_counted_in_window(action)}"
        case "gave up":
            who = "its supervisor gave it up" if action.detail == "child" else "its supervisor gave up"
            return f"{who}: {_counted_in_window(action)}"
    return _SAID.get(action.what, action.what).format(action.detail)


_SAID = {
    "restart failed": "its start failed and is tried again: {}",
    "start failed": "it was started by hand, and that failed: {}",
    "waits": "its supervisor waits {} before it starts it again",
    "moved": "its code still ran when it was dead: its supervisor runs it in a {} from then on",
    "ended itself": "its supervisor ended itself (auto_shutdown {})",
    "kept": "its supervisor kept it stopped",
    "forgot": "its supervisor forgot it",
}


def _counted_in_window(action: ExitAction) -> str:
    if action.in_window > action.max_restarts:
        return f"one more than {counted(action.max_restarts, 'restart')} in {action.max_seconds:g}s"
    return f"{action.in_window} of at most {action.max_restarts} in {action.max_seconds:g}s"


def _listed(words: Sequence[str], left_out: int) -> str:
    return ", ".join(words) + (f" and {counted(left_out, 'other')}" if left_out else "")


def _clock_time(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return "?"
