"""`otpy roll`: the children of a supervisor are started again one after the other, by the program itself."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from otpy.cli.drain_views import roll_view, steps_since
from otpy.cli.lazy import CommandError, CommandUsageError
from otpy.cli.options import json_option
from otpy.cli.paths import joined_argument
from otpy.cli.reach import reach_options
from otpy.cli.screen import console
from otpy.cli.warily import mapping, whole
from otpy.control.errors import GoneError
from otpy.core.exit_codes import ExitCode
from otpy.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.cli.reach import Reach
    from otpy.control.client import Client

__all__ = ["roll"]

INTERVAL = 0.2
"""Seconds between two looks at a roll that is followed."""
OVER = ("done", "stopped")


@click.command
@joined_argument()
@click.option("--max-unavailable", type=click.IntRange(min=1), help="Children without service at a time (1).")
@click.option("--healthy-after", type=click.FloatRange(min=0), help="Seconds a new one must have run well (2).")
@click.option("--within", type=click.FloatRange(min=0, min_open=True), help="Seconds for the drain of each (25).")
@click.option("--tries", type=click.IntRange(min=1), help="Starts of one child that may fail before it stops (3).")
@click.option("--workers", is_flag=True, help="All workers below, one by one, instead of the children as a whole.")
@click.option("--look", is_flag=True, help="Only show how far a roll is, or how it ended.")
@click.option("--stop", "stopping", is_flag=True, help="Have a roll finish what it has begun, and begin nothing more.")
@json_option("how it stands in the end as JSON")
@reach_options
def roll(reach: Reach, path: str, *, look: bool, stopping: bool, as_json: bool, **terms: object) -> None:
    """Start the children of the supervisor at PATH again, such as shop/sessions, one after the other.

    Each is drained before; the next one is begun when the new one has been well for a while. The first bad
    replacement stops it, and the rest run on as they were. The program does it: when this command is lost, it goes on.
    It ends with 75 when the roll was stopped.
    """
    words = {word: value for word, value in terms.items() if value is not None and value is not False}
    if (look or stopping) and (words or (look and stopping)):
        raise CommandUsageError("--look and --stop stand alone: they are about a roll that was begun before")
    with reach.connect_to_path(path) as client:
        seen = _ask(client, "roll_look" if look else "roll_stop" if stopping else "roll", path, words)
        if not look:
            seen = _followed(client, path, seen, is_silent=as_json)
    if not seen:
        raise CommandError(f"{visible(path)} has not been rolled since the program began")
    if as_json:
        click.echo(json.dumps(seen, indent=2))
    else:
        console().print(roll_view(seen))
    if seen.get("state") == "stopped":
        click.get_current_context().exit(ExitCode.LEFT_OVER)


def _ask(client: Client, verb: str, path: str, words: dict[str, Any]) -> dict[str, Any]:
    return mapping(client.request(verb, {"path": path, **words}))


def _followed(client: Client, path: str, seen: dict[str, Any], *, is_silent: bool) -> dict[str, Any]:
    """Tell each step until it is over; how it stands then."""
    told = 0
    try:
        for each in _looks(client, path, seen):
            seen = each
            if not is_silent:
                for line in steps_since(seen, told):
                    console().print(Text(line))
            told = whole(seen.get("step_count"))
    except KeyboardInterrupt:
        if not is_silent:
            click.echo(f"it goes on: otpy roll {visible(path)} --look shows how far it is, --stop ends it")
    except GoneError as error:
        raise CommandError(f"{path.partition('/')[0]} has ended before the roll was over") from error
    return seen


def _looks(client: Client, path: str, seen: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield seen
    while seen and seen.get("state") not in OVER:
        time.sleep(INTERVAL)
        seen = _ask(client, "roll_look", path, {})
        yield seen
