"""`otpy jobs`: what concerns all programs that share a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from otpy.cli.jobs_talk import ask, common, name_argument, show_answer
from otpy.cli.jobs_views import names_view
from otpy.cli.screen import console

if TYPE_CHECKING:
    from otpy.cli.reach import Reach

__all__ = ["names"]


@click.command("names")
@name_argument
@common
def names(reach: Reach, name: str, engine: str | None, *, as_json: bool) -> None:
    """List what exists once in all programs that share the store of NAME, and which of them has it."""
    seen = ask(reach, name, "jobs.names", engine)
    screen = console()
    show_answer(seen, as_json=as_json, view=lambda: names_view(seen, screen.width))
