"""`otpy drain`: have a program, or a part of it, finish what it has and stop, and see it going to nought."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import click
from rich.live import Live
from rich.text import Text

from otpy.cli.drain_views import drain_line, drain_view, ended_view, is_clean
from otpy.cli.lazy import CommandError
from otpy.cli.options import json_option
from otpy.cli.paths import path_argument
from otpy.cli.reach import reach_options
from otpy.cli.screen import console
from otpy.cli.warily import mapping
from otpy.control.errors import GoneError, NoAnswerError, NoSuchSystemError, RemoteError
from otpy.core.exit_codes import ExitCode
from otpy.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.cli.reach import Reach
    from otpy.control.client import Client

__all__ = ["drain"]

INTERVAL = 0.25
"""Seconds between two looks."""
PATIENCE = 86_400.0
"""Seconds for the answer that it is over: the program gives it in the drain's own time."""


@click.command
@path_argument()
@click.option(
    "--within", type=click.FloatRange(min=0, min_open=True), help="Seconds it may take; else the program's own."
)
@click.option("--watch", "-w", "watching", is_flag=True, help="Show what is left to be done, until it is over.")
@click.option("--no-wait", is_flag=True, help="End at once; it goes on.")
@json_option("how it was in the end as JSON; with --watch each look on a line")
@reach_options
def drain(reach: Reach, path: str, within: float | None, *, watching: bool, no_wait: bool, as_json: bool) -> None:
    """Have the actor at PATH, such as shop/feed, or by its name a whole program, finish what it has and stop.

    Nothing more is taken in, what runs is finished, state is saved, queues are flushed, and then all is stopped. The
    command waits for the end; it ends with 0 when nothing was left undone, else with 75.
    """
    params: dict[str, Any] = {"path": path} | ({} if within is None else {"within": within})
    with reach.connect_to_path(path) as client:
        if no_wait:
            client.request("drain", params)
            click.echo(f"{visible(path)} was asked to drain and stop")
            return
        seen = _until_over(reach, client, params, watching=watching, as_json=as_json)
    if as_json:
        click.echo(json.dumps(seen, indent=None if watching else 2))
    else:
        console().print(ended_view(path, seen))
    if not is_clean(seen):
        click.get_current_context().exit(ExitCode.LEFT_OVER)


def _until_over(
    reach: Reach, client: Client, params: dict[str, Any], *, watching: bool, as_json: bool
) -> dict[str, Any]:
    """What is told when it is over; where the program was gone before it told, what was seen last."""
    last: dict[str, Any] = {}
    try:
        if not watching:
            return _asked(client, params)
        told = _Told(client, params)
        with _Shown(params["path"], as_json=as_json) as shown:
            for last in _looks(reach, params["path"], told):
                shown.show(last)
        return told.result()
    except GoneError:
        return last
    except KeyboardInterrupt as error:
        raise CommandError(f"{params['path']} goes on to drain and stop") from error


def _asked(client: Client, params: dict[str, Any]) -> dict[str, Any]:
    return mapping(client.request("drain", {**params, "wait": True}, within=PATIENCE))


class _Told(threading.Thread):
    """Waits for the end on a connection of its own, so that a program which ends has always somebody to tell."""

    def __init__(self, client: Client, params: dict[str, Any]) -> None:
        super().__init__(name="otpy-cli-drain", daemon=True)
        self._client, self._params = client, params
        self._seen: dict[str, Any] = {}
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._seen = _asked(self._client, self._params)
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is asked for
            self._error = error

    def result(self) -> dict[str, Any]:
        """What was told. Raises what has kept it from being told."""
        self.join()
        if self._error is not None:
            raise self._error
        return self._seen


def _looks(reach: Reach, path: str, told: _Told) -> Iterator[dict[str, Any]]:
    """How far it is, again and again, until it is over; the other connection hears how it has ended."""
    with suppress(GoneError, NoSuchSystemError), reach.connect_to_path(path) as client:
        while told.is_alive():
            with suppress(RemoteError, NoAnswerError):  # it has not begun yet, or is over; or it is busy
                seen = client.ask("drain_look", path=path)
                if isinstance(seen, dict):
                    yield seen
            told.join(INTERVAL)


class _Shown:
    """Where looks are shown: in one place of a terminal, elsewhere a line for each that is news."""

    def __init__(self, path: str, *, as_json: bool) -> None:
        self._path = path
        self._as_json = as_json
        self._screen = console()
        self._live: Live | None = None
        self._before = ""

    def __enter__(self) -> Self:
        if self._screen.is_terminal and not self._as_json:
            self._live = Live(console=self._screen, auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, seen: dict[str, Any]) -> None:
        """Show one look."""
        if self._as_json:
            click.echo(json.dumps(seen))
        elif self._live is not None:
            self._live.update(drain_view(self._path, seen), refresh=True)
        elif (line := drain_line(self._path, seen)) != self._before:
            self._before = line
            self._screen.print(Text(line))
