"""`otpy jobs`: what concerns all programs that share a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from otpy.cli.hosts_view import hosts_view, names_view, switched_view
from otpy.cli.jobs_talk import ask, common, show_answer
from otpy.cli.lazy import CommandUsageError
from otpy.cli.paths import name_argument
from otpy.cli.screen import console

if TYPE_CHECKING:
    from otpy.cli.reach import Reach

__all__ = ["activate", "hosts", "names"]


@click.command("names")
@name_argument()
@common
def names(reach: Reach, name: str, engine: str | None, *, as_json: bool) -> None:
    """List what exists once in all programs that share the store of NAME, and which of them has it."""
    seen = ask(reach, name, "jobs.names", engine)
    screen = console()
    show_answer(seen, as_json=as_json, view=lambda: names_view(seen, screen.width))


@click.command("hosts")
@name_argument()
@click.option("--all", "is_all", is_flag=True, help="Also those that have ended lately.")
@common
def hosts(reach: Reach, name: str, engine: str | None, *, is_all: bool, as_json: bool) -> None:
    """List the programs that work on the store of NAME, on whichever machine: version, agents, when heard of last."""
    seen = ask(reach, name, "jobs.hosts", engine, all=is_all)
    screen = console()
    show_answer(seen, as_json=as_json, view=lambda: hosts_view(seen, screen.width))


@click.command("activate")
@name_argument()
@click.argument("version", required=False)
@click.option("--any", "is_any", is_flag=True, help="Programs of any version, and not of VERSION alone.")
@click.option("--force", is_flag=True, help="Also when no program that works on the store has it.")
@common
def activate(
    reach: Reach, name: str, engine: str | None, *, version: str | None, is_any: bool, force: bool, as_json: bool
) -> None:
    """Have the programs of VERSION lead and do the jobs; the others end what they have, and stand by.

    It says which version was active before: activate that to roll back.
    """
    if (version is None) != is_any:
        raise CommandUsageError("name a version, or say --any")
    seen = ask(reach, name, "jobs.activate", engine, version=version, any=is_any, force=force)
    show_answer(seen, as_json=as_json, view=lambda: switched_view(seen))
