"""Floor 9: the command `otpy`, which looks at running programs from another terminal, and runs one."""

from __future__ import annotations

import click

from otpy.cli.lazy import LazyGroup
from otpy.control.wire import otpy_version

__all__ = ["main"]

COMMANDS = {
    "check": "otpy.cli.check:check",
    "doctor": "otpy.cli.doctor:doctor",
    "demo": "otpy.cli.demo:demo",
    "drain": "otpy.cli.drain:drain",
    "explain": "otpy.cli.explain:explain",
    "health": "otpy.cli.health:health",
    "fleet": "otpy.cli.fleet:fleet",
    "info": "otpy.cli.info:info",
    "jobs": "otpy.cli.jobs:jobs",
    "kill": "otpy.cli.operate:kill",
    "metrics": "otpy.cli.metrics:metrics",
    "ps": "otpy.cli.ps:ps",
    "rehearse": "otpy.cli.rehearse:rehearse",
    "restart": "otpy.cli.operate:restart",
    "resume": "otpy.cli.operate:resume",
    "roll": "otpy.cli.roll:roll",
    "run": "otpy.cli.run:run",
    "stop": "otpy.cli.operate:stop",
    "suspend": "otpy.cli.operate:suspend",
    "tree": "otpy.cli.tree:tree",
    "why": "otpy.cli.why:why",
}
"""Where each command is; a module is imported when its command is used, and a missing one is no command."""


def _version(context: click.Context, _option: click.Parameter, asked: bool) -> None:  # noqa: FBT001 - click's own form
    """Say it; it is looked up when asked for, as that takes longer than most commands."""
    if asked and not context.resilient_parsing:
        click.echo(f"otpy, version {otpy_version()}")
        context.exit()


@click.group(cls=LazyGroup, commands_at=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version and exit."
)
def main() -> None:
    """See and mend the otpy programs that run on this machine."""
