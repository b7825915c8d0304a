"""`otpy ps`: the running programs of this user."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from otpy.cli.options import json_option
from otpy.cli.reach import reach_options
from otpy.cli.screen import console
from otpy.cli.views import programs_view
from otpy.control.snapshot import to_plain

if TYPE_CHECKING:
    from otpy.cli.reach import Reach, Seen

__all__ = ["ps"]


@click.command
@json_option("one JSON list")
@reach_options
def ps(reach: Reach, *, as_json: bool) -> None:
    """List the otpy programs that are running."""
    programs = reach.look_around()
    if as_json:
        click.echo(json.dumps([_plain(seen) for seen in programs], indent=2))
    elif programs:
        screen = console()
        screen.print(programs_view(programs, width=screen.width))
    else:
        click.echo(reach.nobody())


def _plain(seen: Seen) -> dict[str, object]:
    facts: dict[str, object] = {"name": seen.name, "pid": seen.pid, "rights": seen.rights, "problem": seen.problem}
    return facts | {"summary": None if seen.summary is None else to_plain(seen.summary)}
