"""What `otpy info` shows of the inside of one actor: pure functions from records to rich renderables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from otpy.cli.formats import counted
from otpy.core.text import visible, visible_lines

if TYPE_CHECKING:
    from rich.console import RenderableType

    from otpy.control.snapshot import Detail
    from otpy.core.record import MailboxRecord, StateRecord

__all__ = ["mailbox_view", "stack_view", "state_view"]

LIMIT = 1_000
"""Characters of one line."""


def state_view(record: StateRecord) -> RenderableType:
    """What an actor holds, one attribute a line; or what it is busy with, and its stack."""
    head = f"{visible(record.path)} is {visible(record.status)}"
    if record.problem is None:
        lines = [visible(line, LIMIT) for line in record.state] or ["no public attributes"]
        return _text(head, lines)
    lines = [f"no state: {visible(record.problem, LIMIT)}"]
    return _text(head, lines + ([visible_lines(record.stack)] if record.stack else []))


def stack_view(detail: Detail) -> RenderableType:
    """The stack of an actor that runs."""
    record = detail.record
    if not record.number:
        return Text(f"{visible(record.path)} is {visible(record.status)} and has no process")
    if detail.stack is None:
        return Text(f"{visible(record.path)} is {visible(record.status)}: it runs on no thread now")
    waiting = f", waiting for {visible(record.waiting, LIMIT)}" if record.waiting else ""
    during = f" in {visible(record.current)}" if record.current else ""
    return Text(f"{visible(record.path)} is {visible(record.status)}{during}{waiting}\n{visible_lines(detail.stack)}")


def mailbox_view(record: MailboxRecord) -> RenderableType:
    """How many messages wait, and the kinds of the first ones, the next one first."""
    head = f"{visible(record.path)}: {counted(record.length, 'message')} waiting"
    doing = [f"it is {visible(record.doing, LIMIT)}"] if record.doing else [f"it is {visible(record.status)}"]
    left = record.length - len(record.messages)
    rest = [f"  … {left:,} more".replace(",", " ")] if left > 0 else []
    return _text(head, doing + [f"  {visible(word, LIMIT)}" for word in record.messages] + rest)


def _text(head: str, lines: list[str]) -> Text:
    return Text("\n".join([head, *lines]))
