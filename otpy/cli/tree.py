"""`otpy tree`: the live tree of a running program, once or again and again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from otpy.cli.options import json_option
from otpy.cli.paths import path_argument
from otpy.cli.reach import reach_options
from otpy.cli.screen import console, guides_for
from otpy.cli.views import tree_view
from otpy.cli.watching import Asking, repeat, repeat_lines, ticks
from otpy.control.snapshot import Snapshot, from_plain, to_plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console, RenderableType

    from otpy.cli.reach import Reach

__all__ = ["Watched", "tree", "watch"]

LIMIT = 50
"""Children shown of each supervisor; the rest are counted."""


@click.command
@path_argument(required=False)
@json_option("one JSON object; with --watch one a line")
@click.option("--watch", "-w", "watching", is_flag=True, help="Show it again and again, until Ctrl-C.")
@click.option(
    "--interval", type=click.FloatRange(min=0.1), default=1.0, show_default=True, help="Seconds, for --watch."
)
@click.option("--limit", type=click.IntRange(min=0), default=LIMIT, show_default=True, help="Children of a supervisor.")
@reach_options
def tree(reach: Reach, path: str | None, *, as_json: bool, watching: bool, interval: float, limit: int) -> None:
    """Show the live tree at PATH: of a program, such as shop, or the part of it below shop/sessions.

    PATH may be left out when one program runs.
    """
    watched = Watched(reach, path or reach.only_one(), limit)
    with watched:
        if not watching:
            _print_once(watched.snapshot(), as_json=as_json)
            if not as_json:
                reach.tell_of_namesakes(watched.path)
        elif as_json:
            repeat_lines(lambda: json.dumps(to_plain(watched.snapshot())), ticks(interval))
        else:
            watch(watched, console(), ticks(interval))


class Watched(Asking):
    """A program's tree, which is looked at again and again."""

    def __init__(self, reach: Reach, path: str, limit: int) -> None:
        """Look at the tree below `path`, which begins with the program's name."""
        super().__init__(reach, path, "tree", {"path": path, "limit": limit})

    def snapshot(self) -> Snapshot:
        """The tree now; raises as `ask`."""
        return from_plain(Snapshot, self.ask())


def watch(watched: Watched, screen: Console, moments: Iterable[None]) -> None:
    """Show the tree at each of the moments; ends when the program does."""
    repeat(lambda: _view(watched.snapshot(), screen), watched.path, screen, moments)


def _view(snapshot: Snapshot, screen: Console) -> RenderableType:
    return tree_view(snapshot, width=screen.width, guides=guides_for(screen))


def _print_once(snapshot: Snapshot, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(to_plain(snapshot), indent=2))
        return
    screen = console()
    screen.print(_view(snapshot, screen))
