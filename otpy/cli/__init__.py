"""Floor 9: the command `otpy`, which looks at running programs from another terminal, and runs one."""

from __future__ import annotations

import click

from otpy.cli.lazy import LazyGroup
from otpy.control.wire import otpy_version

__all__ = ["main"]

COMMANDS = {
    "check": ("otpy.cli.check:check", "Look a tree over before it runs; starts nothing."),
    "doctor": ("otpy.cli.doctor:doctor", "Tell what is wrong with a program, and the mend."),
    "demo": ("otpy.cli.demo:demo", "Count all files of a folder with agents that crash."),
    "drain": ("otpy.cli.drain:drain", "Have an actor, or a program, finish what it has and stop."),
    "explain": ("otpy.cli.explain:explain", "Tell what the end of an actor would take along."),
    "health": ("otpy.cli.health:health", "Tell whether a program lives, and whether it is ready."),
    "fleet": ("otpy.cli.fleet:fleet", "Show a fleet: who is alive, silent, dead, and never seen."),
    "info": ("otpy.cli.info:info", "Show one actor: what it is, does and holds."),
    "jobs": ("otpy.cli.jobs:jobs", "See and mend the durable jobs of a program."),
    "kill": ("otpy.cli.operate:kill", "Kill one actor; its supervisor acts as for any death."),
    "metrics": ("otpy.cli.metrics:metrics", "Print alerts for Prometheus, a dashboard for Grafana."),
    "ps": ("otpy.cli.ps:ps", "List the otpy programs that are running."),
    "rehearse": ("otpy.cli.rehearse:rehearse", "Tell what would happen; no actor is disturbed."),
    "restart": ("otpy.cli.operate:restart", "Start one actor again; one that runs is stopped before."),
    "resume": ("otpy.cli.operate:resume", "Have one actor go on with its messages."),
    "roll": ("otpy.cli.roll:roll", "Start the children of a supervisor again, one by one."),
    "run": ("otpy.cli.run:run", "Run a tree until it is told to stop, or gives up."),
    "stop": ("otpy.cli.operate:stop", "Stop one actor, or a whole program."),
    "suspend": ("otpy.cli.operate:suspend", "Have one actor handle no messages until it is resumed."),
    "tree": ("otpy.cli.tree:tree", "Show the live tree of a program, or a part of it."),
    "why": ("otpy.cli.why:why", "Tell why an actor ended, and what its supervisor did."),
}
"""Where each command is, and what it does in one line, for the list of all: a module is imported when its command is
used, and a missing one is no command."""


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
