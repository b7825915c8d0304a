"""`otpy info`: all that is published of one actor."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from otpy.cli.lazy import CommandUsageError
from otpy.cli.look_views import mailbox_view, stack_view, state_view
from otpy.cli.options import json_option
from otpy.cli.paths import path_argument
from otpy.cli.reach import reach_options
from otpy.cli.screen import console
from otpy.cli.views import info_view
from otpy.control.client import REPLY_TIME
from otpy.control.snapshot import Detail, from_plain, to_plain
from otpy.core.record import MailboxRecord, StateRecord

if TYPE_CHECKING:
    from rich.console import RenderableType

    from otpy.cli.reach import Reach
    from otpy.control.client import Client

__all__ = ["info"]


@click.command
@path_argument()
@json_option()
@click.option("--state", is_flag=True, help="Show what it holds; the program must give the right full.")
@click.option("--stack", is_flag=True, help="Show its Python stack alone.")
@click.option("--mailbox", is_flag=True, help="Show what waits for it, by kind.")
@click.option("--limit", type=click.IntRange(min=0), default=20, show_default=True, help="Messages, for --mailbox.")
@click.option(
    "--within",
    type=click.FloatRange(min=0, min_open=True, max=60.0),
    default=2.5,
    show_default=True,
    help="Seconds it may be in a message, for --state.",
)
@reach_options
def info(reach: Reach, path: str, *, as_json: bool, limit: int, within: float, **parts: bool) -> None:
    """Show one actor, such as shop/cache: what it is, what it does now, what it holds."""
    asked = [part for part, wanted in parts.items() if wanted]
    if len(asked) > 1:
        raise CommandUsageError(f"one at a time: {' or '.join(f'--{part}' for part in sorted(asked))}")
    with reach.connect_to_path(path) as client:
        seen = _ask(client, asked[0] if asked else "", path, limit, within)
    if as_json:
        click.echo(json.dumps(to_plain(seen), indent=2))
    else:
        console().print(_view(seen, is_stack=asked == ["stack"]))


def _ask(client: Client, part: str, path: str, limit: int, within: float) -> Detail | StateRecord | MailboxRecord:
    match part:
        case "state":
            asked = client.request(part, {"path": path, "within": within}, within=within + REPLY_TIME)
            return from_plain(StateRecord, asked)
        case "mailbox":
            return from_plain(MailboxRecord, client.ask(part, path=path, limit=limit))
    return from_plain(Detail, client.ask("info", path=path))


def _view(seen: Detail | StateRecord | MailboxRecord, *, is_stack: bool) -> RenderableType:
    match seen:
        case StateRecord():
            return state_view(seen)
        case MailboxRecord():
            return mailbox_view(seen)
    return stack_view(seen) if is_stack else info_view(seen)
