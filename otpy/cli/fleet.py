"""`otpy fleet`: the agents of a fleet as a running hub sees them, by label."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from otpy.cli.fleet_view import fleet_view
from otpy.cli.lazy import CommandError, CommandUsageError
from otpy.cli.options import json_option
from otpy.cli.paths import name_argument
from otpy.cli.reach import reach_options
from otpy.cli.screen import console
from otpy.cli.watching import Asking, repeat, repeat_lines, ticks
from otpy.control.errors import RemoteError
from otpy.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otpy.cli.reach import Reach

__all__ = ["fleet"]

LIMIT = 50
"""Groups, and agents, that are shown."""
STATES = ("alive", "degraded", "draining", "silent", "dead", "never_seen")


@click.command
@name_argument(required=False)
@click.option("--fleet", "which", help="Which of the program's fleets, if it has several.")
@click.option("--by", help="A line for each value of this label.")
@click.option("--state", type=click.Choice(STATES), help="List the agents in this one.")
@click.option("--label", "labels", multiple=True, metavar="NAME=VALUE", help="List the agents with this one.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=LIMIT, show_default=True, help="Groups, and agents.")
@click.option("--watch", "-w", "watching", is_flag=True, help="Show it again and again, until Ctrl-C.")
@click.option(
    "--interval", type=click.FloatRange(min=0.1), default=2.0, show_default=True, help="Seconds, for --watch."
)
@json_option("one JSON object; with --watch one a line")
@reach_options
def fleet(reach: Reach, name: str | None, *, as_json: bool, watching: bool, interval: float, **look: Any) -> None:
    """Show the fleet whose hub the program NAME is: who is alive, silent, dead, and never seen.

    NAME may be left out when one program runs.
    """
    words = {"fleet": look["which"], "by": look["by"], "state": look["state"], "labels": _pairs(look["labels"])}
    given = {word: value for word, value in words.items() if value}
    screen = console()
    view = {"by": look["by"], "wants_agents": bool(look["state"] or look["labels"])}
    name = name or reach.only_one()
    with _Fleet(reach, name, "fleet", {"limit": look["limit"]} | given) as asking:
        if as_json:
            repeat_lines(asking.line, ticks(interval)) if watching else click.echo(json.dumps(asking.ask(), indent=2))
        elif watching:
            repeat(lambda: fleet_view(asking.ask(), screen.width, **view), asking.path, screen, ticks(interval))
        else:
            screen.print(fleet_view(asking.ask(), screen.width, **view))
            reach.tell_of_namesakes(name)


class _Fleet(Asking):
    """A hub that is asked for its fleet."""

    def ask(self) -> object:
        """How it stands now; raises CommandError when the program sees none."""
        try:
            return super().ask()
        except RemoteError as error:
            if error.is_of_unknown_verb:
                raise CommandError(f"no fleet is seen from {visible(self.path)}") from error
            raise

    def line(self) -> str:
        """It as one line of JSON."""
        return json.dumps(self.ask())


def _pairs(words: Iterable[str]) -> dict[str, str]:
    """What `--label` says. Raises CommandUsageError."""
    pairs = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name:
            raise CommandUsageError(f"--label {word}: say NAME=VALUE")
        pairs[name] = value
    return pairs
