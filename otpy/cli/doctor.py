"""`otpy doctor`: what is wrong with a running program, and the mend."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click
from rich.console import Group
from rich.text import Text

from otpy.cli.formats import counted
from otpy.cli.options import json_option
from otpy.cli.part_views import finding_line
from otpy.cli.paths import name_argument
from otpy.cli.reach import reach_options
from otpy.cli.screen import console
from otpy.core.exit_codes import ExitCode
from otpy.core.part import Finding
from otpy.core.text import visible

if TYPE_CHECKING:
    from otpy.cli.reach import Reach

__all__ = ["doctor"]

PATIENCE = 30.0
"""Seconds for the answer: a store that hangs is waited for by those who look."""


@click.command
@name_argument(required=False)
@json_option("the findings as JSON")
@reach_options
def doctor(reach: Reach, name: str | None, *, as_json: bool) -> None:
    """Tell what is wrong with the program NAME, and the mend; NAME may be left out when one program runs.

    It ends with 70 when anything is an error: actors that do not get on, a store that keeps nothing or is held up.
    """
    name = name or reach.only_one()
    with reach.connect(name) as client:
        seen: Any = client.ask("doctor", within=PATIENCE)  # looked at warily
        found = [_finding(one) for one in seen if isinstance(one, dict)]
    errors = sum(one.level == "error" for one in found)
    if as_json:
        click.echo(json.dumps([{"level": one.level, "path": one.path, "text": one.text} for one in found], indent=2))
    elif found:
        console().print(Group(*map(finding_line, found)))
    else:
        console().print(Text(f"nothing is wrong with {visible(name)}, as far as it can tell"))
    if errors and not as_json:
        click.echo(counted(errors, "error"), err=True)
    if not as_json:
        reach.tell_of_namesakes(name)
    if errors:
        click.get_current_context().exit(ExitCode.FAILED)


def _finding(one: dict[str, Any]) -> Finding:
    """As the program said it, of which nothing is trusted."""
    return Finding("warning" if one.get("level") == "warning" else "error", str(one.get("path")), str(one.get("text")))
