"""`otpy tree`: the live tree of a running program, once or again and again."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Self

import click
from rich.live import Live
from rich.text import Text

from otpy.cli.options import json_option
from otpy.cli.reach import reach_options
from otpy.cli.screen import console, guides_for
from otpy.cli.views import tree_view
from otpy.control.errors import GoneError, NoAnswerError, NoSuchSystemError
from otpy.control.snapshot import Snapshot, from_plain, to_plain
from otpy.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import Console, RenderableType

    from otpy.cli.reach import Reach
    from otpy.control.client import Client

__all__ = ["Watched", "ticks", "tree", "watch"]

LIMIT = 50
"""Children shown of each supervisor; the rest are counted."""


@click.command
@click.argument("name", required=False)
@json_option("one JSON object; with --watch one a line")
@click.option("--watch", "-w", "watching", is_flag=True, help="Show it again and again, until Ctrl-C.")
@click.option(
    "--interval", type=click.FloatRange(min=0.1), default=1.0, show_default=True, help="Seconds, for --watch."
)
@click.option("--limit", type=click.IntRange(min=0), default=LIMIT, show_default=True, help="Children of a supervisor.")
@reach_options
def tree(reach: Reach, name: str | None, *, as_json: bool, watching: bool, interval: float, limit: int) -> None:
    """Show the live tree of the program NAME, or the part of it below a path such as shop/sessions.

    NAME may be left out when one program runs.
    """
    watched = Watched(reach, name or reach.only_one(), limit)
    with watched:
        if not watching:
            _print_once(watched.snapshot(), as_json=as_json)
        elif as_json:
            _watch_lines(watched, ticks(interval))
        else:
            watch(watched, console(), ticks(interval))


class Watched:
    """A program that is looked at, through a connection that is made again when it was lost."""

    def __init__(self, reach: Reach, path: str, limit: int) -> None:
        """Look at the tree below `path`, which begins with the program's name."""
        self.path = path
        self._reach = reach
        self._limit = limit
        self._client: Client | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._hang_up()

    def snapshot(self) -> Snapshot:
        """The tree now.

        Raises:
            ControlError: the program does not run, does not answer, or has no such part.
        """
        try:
            return self._ask()
        except GoneError:
            self._hang_up()
            return self._ask()

    def _ask(self) -> Snapshot:
        if self._client is None:
            self._client = self._reach.connect_to_path(self.path)
        return from_plain(Snapshot, self._client.ask("tree", path=self.path, limit=self._limit))

    def _hang_up(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()


def ticks(interval: float) -> Iterator[None]:
    """Now, and then every `interval` seconds, until Ctrl-C."""
    try:
        while True:
            yield
            time.sleep(interval)
    except KeyboardInterrupt:
        return


def watch(watched: Watched, screen: Console, moments: Iterable[None]) -> None:
    """Show the tree at each of the moments; ends when the program does."""
    try:
        if screen.is_terminal:
            _repaint(watched, screen, moments)
        else:
            for _ in moments:
                screen.print(_now(watched, screen), "")
    except KeyboardInterrupt:
        return
    except (NoSuchSystemError, GoneError):
        click.echo(f"{visible(watched.path)} has ended")


def _repaint(watched: Watched, screen: Console, moments: Iterable[None]) -> None:
    with Live(console=screen, auto_refresh=False, screen=True) as live:
        for _ in moments:
            live.update(_now(watched, screen), refresh=True)


def _now(watched: Watched, screen: Console) -> RenderableType:
    try:
        return _view(watched.snapshot(), screen)
    except NoAnswerError as error:  # it may well answer the next time
        return Text(str(error), style="red")


def _view(snapshot: Snapshot, screen: Console) -> RenderableType:
    return tree_view(snapshot, width=screen.width, guides=guides_for(screen))


def _print_once(snapshot: Snapshot, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(to_plain(snapshot), indent=2))
        return
    screen = console()
    screen.print(_view(snapshot, screen))


def _watch_lines(watched: Watched, moments: Iterable[None]) -> None:
    try:
        for _ in moments:
            click.echo(json.dumps(to_plain(watched.snapshot())))
    except (NoSuchSystemError, GoneError, KeyboardInterrupt):
        return
