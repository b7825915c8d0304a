"""`otpy stop`, `otpy restart`, `otpy kill`: the commands that change something, each done when it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from otpy.cli.lazy import CommandError
from otpy.cli.reach import reach_options
from otpy.control.errors import NoAnswerError
from otpy.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.cli.reach import Reach

__all__ = ["kill", "restart", "stop"]

WITHIN = 60.0
"""Seconds: twice the time in which a whole tree has to stop."""

within_option = click.option(
    "--within",
    type=click.FloatRange(min=0, min_open=True),
    default=WITHIN,
    show_default=True,
    help="Seconds to wait until it is done; it goes on after them.",
)


def _path_command(command: Callable[..., None]) -> click.Command:
    return click.command(click.argument("path")(within_option(reach_options(command))))


@_path_command
def stop(reach: Reach, path: str, within: float) -> None:
    """Stop one actor, such as shop/feed, and keep its specification; or, by its name alone, a whole program."""
    if "/" in path:
        _carry_out(reach, "stop", path, within)
        click.echo(f"{visible(path)} is stopped; unless it was temporary or dynamic, otpy restart starts it again")
        return
    with reach.connect(path) as client:
        client.ask("stop_system")
    click.echo(f"{visible(path)} was asked to stop")


@_path_command
def restart(reach: Reach, path: str, within: float) -> None:
    """Start one actor again, such as shop/feed; one that runs is stopped before."""
    _carry_out(reach, "restart", path, within)
    click.echo(f"{visible(path)} is restarted")


@_path_command
def kill(reach: Reach, path: str, within: float) -> None:
    """Kill one actor, such as shop/feed; its supervisor acts as for any death."""
    _carry_out(reach, "kill", path, within)
    click.echo(f"{visible(path)} is killed")


def _carry_out(reach: Reach, verb: str, path: str, within: float) -> None:
    with reach.connect_to_path(path) as client:
        try:
            client.ask(verb, within=within, path=path)
        except NoAnswerError as error:
            # Silence may be a command that takes its time; a program that still greets is at work on it.
            reach.connect_to_path(path).close()
            message = f"{verb} of {path} is not done after {within:g} s; the program goes on with it"
            raise CommandError(message) from error
