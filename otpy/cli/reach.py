"""How commands reach running programs: the options for it, and the choice of the one that is meant."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from otpy.cli.lazy import CommandUsageError
from otpy.cli.options import directory_option
from otpy.control.claim import is_alive_in
from otpy.control.client import HELLO_TIME, connect, connect_to, listed
from otpy.control.errors import ControlError, GoneError, NoAnswerError, NoSuchSystemError
from otpy.control.snapshot import Summary, from_plain
from otpy.core.suggest import listing, nearest
from otpy.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from otpy.control.client import Client, Endpoint

__all__ = ["Reach", "Seen", "reach_options"]

AT_ONCE = 16
"""Programs asked at the same time, so that one that does not answer costs its time once."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one socket turned out to be; without a summary, `error` says why."""

    name: str
    """The socket's name, which is the program's."""
    pid: int | None = None
    """Its process, as far as known."""
    rights: str = "?"
    """What it allows those who look."""
    summary: Summary | None = None
    """What it says of itself."""
    error: ControlError | None = None
    """Why it says nothing."""

    @property
    def problem(self) -> str | None:
        """The error in few words."""
        if self.error is None:
            return None
        return "does not answer" if isinstance(self.error, NoAnswerError) else str(self.error)


@dataclass(frozen=True, slots=True)
class Reach:
    """Where to look for programs, and how long to wait for a first word."""

    directory: Path | None = None
    """None looks wherever programs of this user put their sockets."""
    hello_time: float = HELLO_TIME
    """Seconds in which a program must say hello."""

    def connect(self, name: str) -> Client:
        """A connection to the program of this name."""
        return connect_to(name, self.directory, hello_time=self.hello_time)

    def connect_to_path(self, path: str) -> Client:
        """A connection to the program in which this path lies.

        Raises:
            NoSuchSystemError: none of this name runs; where only one does, and the name is no slip of the fingers, it
                is taken to have been left out.
        """
        name = path.partition("/")[0]
        try:
            return self.connect(name)
        except NoSuchSystemError as error:
            if len(error.running) != 1 or nearest(name, error.running) is not None:
                raise
            whole = f"{error.running[0]}/{path}"
            raise NoSuchSystemError(f"{error}; or did you mean {visible(whole)!r}?", error.running) from error

    def only_one(self) -> str:
        """The name of the one program that runs.

        Raises:
            CommandUsageError: none does, or several, which are named.
            ControlError: one does, and cannot be looked at.
        """
        match self.look_around():
            case []:
                raise CommandUsageError(self.nobody())
            case [Seen(error=None, name=name)]:
                return name
            case [Seen(error=ControlError() as error)]:
                raise error
            case several:
                raise CommandUsageError(f"several programs run, name one: {', '.join(seen.name for seen in several)}")

    def tell_of_namesakes(self, path: str) -> None:
        """Say on standard error, beside what was shown, that programs run which wanted the same name.

        Who has started one may have looked at another, an older one.
        """
        name = path.partition("/")[0]
        found = [one for one in listed(self.directory) if _is_numbered(one.name, name)]
        others = sorted({one.name for one in found if is_alive_in(one.directory, one.name)})
        if others:
            click.echo(f"there is also {visible(listing(others))}: otpy ps tells them apart", err=True)

    def nobody(self) -> str:
        """What to say when no program runs: also where that is so, for a folder may be misspelt."""
        where = "" if self.directory is None else f" in {visible(str(self.directory))}"
        return f"no otpy program of yours is running{where}"

    def look_around(self) -> list[Seen]:
        """Every program that runs, by name, whether it answers or not; stale sockets are no programs."""
        endpoints = listed(self.directory)
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="otpy-cli") as pool:
            return [seen for seen in pool.map(self._look_at, endpoints) if seen is not None]

    def _look_at(self, endpoint: Endpoint) -> Seen | None:
        try:
            with connect(endpoint, hello_time=self.hello_time) as client:
                summary = from_plain(Summary, client.ask("summary", within=max(self.hello_time, HELLO_TIME)))
                return Seen(endpoint.name, client.hello.pid, client.hello.rights, summary)
        except (NoSuchSystemError, GoneError):
            return None
        except ControlError as error:
            return Seen(endpoint.name, error.pid if isinstance(error, NoAnswerError) else None, error=error)


def _is_numbered(other: str, name: str) -> bool:
    """Whether it is `shop-2` of `shop`, or a later one."""
    number = other.removeprefix(f"{name}-")
    return number != other and number.isdecimal()


def reach_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the parameter `reach`, and the options it is made from."""

    @directory_option("Where the sockets are")
    @click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        default=HELLO_TIME,
        show_default=True,
        help="Seconds in which a program must say hello.",
    )
    def with_reach(directory: Path | None, timeout: float, **rest: object) -> None:
        command(reach=Reach(directory, timeout), **rest)

    # click keeps a command's arguments in these two, and names it after them.
    with_reach.__doc__, with_reach.__name__ = command.__doc__, command.__name__
    return with_reach
