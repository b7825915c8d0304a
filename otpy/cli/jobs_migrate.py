"""`otpy jobs migrate`: the tables of jobs on a server, made or brought up to date before a program needs them."""

from __future__ import annotations

import click

from otpy.cli.lazy import CommandError, CommandUsageError
from otpy.core.text import visible

__all__ = ["migrate"]

PATIENCE = 10.0
"""Seconds for the server, and for locks of others; what is done then takes as long as it does."""


@click.command("migrate")
@click.argument("address")
@click.option("--force", is_flag=True, help="Also while programs work on them that know the old version alone.")
def migrate(address: str, *, force: bool) -> None:
    """Make the tables of jobs at ADDRESS, postgresql://…, or bring them to the version of this otpy.

    A program does so by itself at its start; this is for where it has no right to, and before the first of a new
    version comes. It is refused while programs work on older tables, which would go on by what they know.
    """
    from otpy.jobs.store.where import is_server, lacking, shown  # noqa: PLC0415 - other commands load nothing of jobs

    if not is_server(address):
        raise CommandUsageError("an ADDRESS begins with postgresql://; a file is brought up to date by a program")
    try:
        from otpy.jobs.store.postgres.failures import failures  # noqa: PLC0415 - an extra
        from otpy.jobs.store.postgres.session import Session  # noqa: PLC0415
        from otpy.jobs.store.postgres.versions import KNOWN  # noqa: PLC0415
        from otpy.jobs.store.postgres.versions import migrate as bring  # noqa: PLC0415
    except ImportError as error:
        raise CommandError(lacking(error)) from None
    path = shown(address)
    with failures(path):
        session = Session(address, PATIENCE, is_fast=False)
        try:
            found = bring(session, path, is_forced=force)
        finally:
            session.close()
    before = f"the version was {found}" if found else "there were none"
    done = "up to date" if found == KNOWN else f"brought to version {KNOWN}; {before}"
    click.echo(visible(f"the tables at {path} are {done}", 500))
