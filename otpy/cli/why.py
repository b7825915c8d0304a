"""`otpy why`: what a program remembers of an actor's exits, and what became of each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from otpy.cli.options import json_option
from otpy.cli.paths import path_argument
from otpy.cli.reach import reach_options
from otpy.cli.screen import console
from otpy.cli.why_view import why_view
from otpy.control.snapshot import Exits, from_plain, to_plain

if TYPE_CHECKING:
    from otpy.cli.reach import Reach

__all__ = ["why"]

LAST = 5
"""Exits shown unless asked for more."""


@click.command
@path_argument()
@json_option()
@click.option("--last", type=click.IntRange(min=1), default=LAST, show_default=True, help="Exits to show, at most.")
@reach_options
def why(reach: Reach, path: str, *, as_json: bool, last: int) -> None:
    """Tell why an actor ended, such as shop/feed, and what its supervisor did.

    Exits above and below it are told too, and those of siblings that took it along; the latest comes first.
    """
    with reach.connect_to_path(path) as client:
        exits = from_plain(Exits, client.ask("why", path=path, limit=last))
    if as_json:
        click.echo(json.dumps(to_plain(exits), indent=2))
    else:
        console().print(why_view(exits))
