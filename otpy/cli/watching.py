"""Looking at a program again and again: a connection that is made anew when it was lost, a screen that is redrawn."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Self

import click
from rich.live import Live
from rich.text import Text

from otpy.control.errors import GoneError, NoAnswerError, NoSuchSystemError
from otpy.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from rich.console import Console, RenderableType

    from otpy.cli.reach import Reach
    from otpy.control.client import Client

__all__ = ["Asking", "repeat", "repeat_lines", "ticks"]


class Asking:
    """A program that is asked the same again and again."""

    def __init__(self, reach: Reach, path: str, verb: str, params: Mapping[str, Any]) -> None:
        """Ask the one in which `path` lies; it begins with the program's name."""
        self.path = path
        self._reach, self._verb, self._params = reach, verb, params
        self._client: Client | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._hang_up()

    def ask(self) -> object:
        """What it says now.

        Raises:
            ControlError: the program does not run, does not answer, or has no such thing.
        """
        try:
            return self._ask()
        except GoneError:
            self._hang_up()
            return self._ask()

    def _ask(self) -> object:
        if self._client is None:
            self._client = self._reach.connect_to_path(self.path)
        return self._client.ask(self._verb, **self._params)

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


def repeat(show: Callable[[], RenderableType], path: str, screen: Console, moments: Iterable[None]) -> None:
    """Show something of the program at each of the moments; ends when the program does."""
    try:
        if screen.is_terminal:
            _repaint(show, screen, moments)
        else:
            for _ in moments:
                screen.print(_shown(show), "")
    except KeyboardInterrupt:
        return
    except (NoSuchSystemError, GoneError):
        click.echo(f"{visible(path)} has ended")


def repeat_lines(line: Callable[[], str], moments: Iterable[None]) -> None:
    """The same for programs: a line at each of the moments."""
    try:
        for _ in moments:
            click.echo(line())
    except (NoSuchSystemError, GoneError, KeyboardInterrupt):
        return


def _repaint(show: Callable[[], RenderableType], screen: Console, moments: Iterable[None]) -> None:
    with Live(console=screen, auto_refresh=False, screen=True) as live:
        for _ in moments:
            live.update(_shown(show), refresh=True)


def _shown(show: Callable[[], RenderableType]) -> RenderableType:
    try:
        return show()
    except NoAnswerError as error:  # it may well answer the next time
        return Text(str(error), style="red")
