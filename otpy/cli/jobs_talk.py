"""How `otpy jobs` talks: what all of its commands take, what they ask a program, and how they show what it says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from otpy.cli.lazy import CommandError
from otpy.cli.options import json_option
from otpy.cli.reach import reach_options
from otpy.cli.screen import console
from otpy.control.client import REPLY_TIME
from otpy.control.errors import RemoteError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType

    from otpy.cli.reach import Reach

__all__ = ["ask", "common", "show_answer"]

engine_option = click.option("--engine", help="Which of the program's engines, if it has several.")


def common(function: Callable[..., None]) -> Callable[..., None]:
    """What all of them take; click's own decorators go outside of it."""
    return json_option("the answer as JSON")(engine_option(reach_options(function)))


def ask(
    reach: Reach, name: str, verb: str, engine: str | None, *, within: float = REPLY_TIME, **params: Any
) -> Any:  # Any: views read it warily
    """Have the program NAME do a verb of its engine; what it says. Raises CommandError when it has none."""
    words = {word: value for word, value in {**params, "engine": engine}.items() if value is not None}
    with reach.connect(name) as client:
        try:
            return client.ask(verb, within=within, **words)
        except RemoteError as error:
            if error.is_of_unknown_verb:
                raise CommandError(f"{name} has no jobs: no engine runs in it") from error
            raise


def show_answer(seen: object, *, as_json: bool, view: Callable[[], RenderableType]) -> None:
    """As JSON, or as people read it."""
    if as_json:
        click.echo(json.dumps(seen, indent=2))
    else:
        console().print(view())
