"""`otpy info`: all that is published of one actor."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from otpy.cli.reach import reach_options
from otpy.cli.screen import console
from otpy.cli.views import info_view
from otpy.control.snapshot import Detail, from_plain, to_plain

if TYPE_CHECKING:
    from otpy.cli.reach import Reach

__all__ = ["info"]


@click.command
@click.argument("path")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@reach_options
def info(reach: Reach, path: str, *, as_json: bool) -> None:
    """Show one actor, such as shop/cache: what it is, what it does now, what it holds."""
    with reach.connect_to_path(path) as client:
        detail = from_plain(Detail, client.ask("info", path=path))
    if as_json:
        click.echo(json.dumps(to_plain(detail), indent=2))
    else:
        console().print(info_view(detail))
