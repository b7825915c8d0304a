"""`otpy rehearse`: what would happen if a program were drained now; nothing happens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from otpy.cli.drain_views import rehearsal_view
from otpy.cli.lazy import GuessingGroup
from otpy.cli.options import json_option
from otpy.cli.paths import path_argument
from otpy.cli.reach import reach_options
from otpy.cli.screen import console
from otpy.cli.warily import mapping, mappings
from otpy.core.exit_codes import ExitCode

if TYPE_CHECKING:
    from otpy.cli.reach import Reach

__all__ = ["rehearse"]

PATIENCE = 30.0
"""Seconds for the answer: mailboxes are watched for a while, and a store may have to be asked."""


@click.group(cls=GuessingGroup)
def rehearse() -> None:
    """Tell what would happen; nothing is stopped, and no actor is disturbed."""


@rehearse.command
@path_argument()
@click.option(
    "--within", type=click.FloatRange(min=0, min_open=True), help="Seconds the drain would have; else the program's."
)
@json_option("what was found as JSON")
@reach_options
def drain(reach: Reach, path: str, within: float | None, *, as_json: bool) -> None:
    """Tell what would be late, and by how much, if what is at PATH were drained now.

    That is a whole program, such as shop, or one actor with all below it, such as shop/feed. It ends with 75 when
    anything would be late, else with 0.
    """
    with reach.connect_to_path(path) as client:
        params = {"path": path} | ({} if within is None else {"within": within})
        facts = mapping(client.request("rehearse_drain", params, within=PATIENCE))
    if as_json:
        click.echo(json.dumps(facts, indent=2))
    else:
        console().print(rehearsal_view(path, facts))
    if any(one.get("level") == "late" for one in mappings(facts.get("late"))):
        click.get_current_context().exit(ExitCode.LEFT_OVER)
