"""`otpy stop`, `otpy restart`, `otpy kill`: the commands that change something, each done when it returns."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from otpy.cli.lazy import CommandError
from otpy.cli.paths import path_argument
from otpy.cli.reach import reach_options
from otpy.control.errors import NoAnswerError
from otpy.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from otpy.cli.reach import Reach

__all__ = ["kill", "restart", "resume", "stop", "suspend"]

ANSWER_TIME = 5.0
"""Seconds for the answer of a program that waits itself for so long as it was told."""
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
    return click.command(path_argument()(within_option(reach_options(command))))


@_path_command
def stop(reach: Reach, path: str, within: float) -> None:
    """Stop one actor, such as shop/feed, and keep its specification; or, by its name, a whole program."""
    if "/" in path:
        _carry_out(reach, "stop", path, within)
        click.echo(f"{visible(path)} is stopped; unless it was temporary or dynamic, otpy restart starts it again")
        return
    with reach.connect_to_path(path) as client:
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


patience_option = click.option(
    "--within",
    type=click.FloatRange(min=0, min_open=True, max=60.0),
    default=5.0,
    show_default=True,
    help="Seconds it may be in a message before it is said to be busy; it is done after that message.",
)


@click.command
@path_argument()
@click.option(
    "--for", "seconds", type=click.FloatRange(min=0, min_open=True), help="Resume it by itself after so long."
)
@patience_option
@reach_options
def suspend(reach: Reach, path: str, seconds: float | None, within: float) -> None:
    """Have one actor, such as shop/feed, handle no messages until otpy resume; they wait in its mailbox."""
    _carry_out(reach, "suspend", path, within + ANSWER_TIME, {"within": within, "seconds": seconds})
    until = f"otpy resume {visible(path)}" if seconds is None else f"{seconds:g} s have gone by"
    click.echo(f"{visible(path)} is suspended until {until}")


@click.command
@path_argument()
@patience_option
@reach_options
def resume(reach: Reach, path: str, within: float) -> None:
    """Have one actor, such as shop/feed, go on with its messages."""
    _carry_out(reach, "resume", path, within + ANSWER_TIME, {"within": within})
    click.echo(f"{visible(path)} goes on")


def _carry_out(
    reach: Reach, verb: str, path: str, within: float, params: Mapping[str, object] = MappingProxyType({})
) -> None:
    with reach.connect_to_path(path) as client:
        try:
            client.request(verb, {"path": path, **params}, within=within)
        except NoAnswerError as error:
            # Silence may be a command that takes its time; a program that still greets is at work on it.
            reach.connect_to_path(path).close()
            message = f"{verb} of {path} is not done after {within:g} s; the program goes on with it"
            raise CommandError(message) from error
