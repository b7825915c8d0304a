"""`otpy demo`: durable jobs at work on real files, and a plain loop beside it."""

from __future__ import annotations

import os
import random
import shlex
import sysconfig
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from otpy.app.run import run
from otpy.cli.demo_store import Place, run_of, store_of, taken
from otpy.cli.demo_views import Gauge, Screen, Show, outcome_view, said
from otpy.cli.formats import counted
from otpy.cli.lazy import CommandError, CommandUsageError
from otpy.cli.options import directory_option
from otpy.cli.screen import console
from otpy.core.exit_codes import ExitCode
from otpy.core.spec import child
from otpy.core.text import visible
from otpy.demo import durable
from otpy.demo.compare import Result, compare, plain_loop
from otpy.demo.count_files import SCHEDULER, Agent, Scheduler
from otpy.demo.durable import CountDurably
from otpy.demo.tree import CountFiles
from otpy.demo.trouble import MOMENTS, Trouble, mute
from otpy.errors import TreeFailedError
from otpy.events.supervision import RestartLimitReached

if TYPE_CHECKING:
    from pathlib import Path

    from otpy.demo.collector import Report

__all__ = ["demo"]

AGENTS = 8
CRASH = 0.05
"""A probability: on a few thousand files it shows some hundred crashes, and costs little time."""
OMITTED = ("site-packages", "dist-packages", "test")
"""Folders within Python's own library that hold the libraries of others, and its tests, as much as all the rest."""
PATIENCE = 2.0
"""Seconds in which a count that is kept in memory alone ends: nobody gets what it still finds."""
PATH_LIMIT = 500
"""Characters shown of a path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What was asked for."""

    folder: str
    """Whose files are counted."""
    without: tuple[str, ...]
    """Folders in it that are left out."""
    agents: int
    """How many read at once."""
    trouble: Trouble
    """What agents meet with."""
    directory: Path | None
    """Where the control socket goes; None means the usual place."""


@click.command
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False))
@click.option(
    "--crash",
    type=click.FloatRange(0, 1),
    default=CRASH,
    show_default=True,
    help="Probability that an agent crashes before reading a file, while reading it, after sending the result.",
)
@click.option("--agents", type=click.IntRange(1, 10_000), default=AGENTS, show_default=True, help="How many read.")
@click.option("--seed", type=int, help="Which claims crash; the one that was drawn is shown.")
@click.option("--pause", type=click.FloatRange(min=0), default=0.0, help="Seconds before each file, to look around.")
@click.option(
    "--store",
    metavar="FILE|ADDRESS",
    type=click.Path(dir_okay=False),
    help="Which file keeps what is done, or which server: postgresql://…",
)
@click.option("--fresh", is_flag=True, help="Begin anew, whatever an earlier run has left.")
@click.option("--memory", is_flag=True, help="Without jobs: supervised actors alone, which keep nothing in a file.")
@directory_option("Where the socket goes")
@click.pass_context
def demo(
    ctx: click.Context,
    /,
    *,
    folder: str | None,
    crash: float,
    agents: int,
    seed: int | None,
    pause: float,
    store: str | None,
    fresh: bool,
    memory: bool,
    directory: Path | None,
) -> None:
    """Count all files of FOLDER, by default of Python's own library, with agents that crash now and then.

    Each file is a job in a file of the demo's own, or in a schema of its own on a server: kill this program in the
    middle, even by SIGKILL, start it again, and it goes on where it was; start two of them, and kill the first. A plain
    loop counts again, to compare.
    """
    place = folder or sysconfig.get_path("stdlib")
    drawn = random.SystemRandom().randrange(1_000_000) if seed is None else seed
    # What others installed into it may be a hundred times as much, and is not Python's own.
    without = () if folder else tuple(os.path.join(place, name) for name in OMITTED)  # noqa: PTH118 - paths are text
    if memory and (store is not None or fresh):
        raise CommandUsageError("--memory keeps nothing in a file, so --store and --fresh do not go with it")
    trouble = Trouble(crash, drawn, pause)
    plan = Plan(folder=place, without=without, agents=agents, trouble=trouble, directory=directory)
    if memory:
        report = _with_actors(ctx, plan)
    else:
        with taken(store or str(store_of(place, without)), run_of(place, without), is_fresh=fresh) as kept:
            report = _with_jobs(ctx, plan, kept)
    results, seconds = _with_a_loop(ctx, report)
    comparison = compare(report.results, results)
    console().print(outcome_view(report, comparison, seconds))
    ctx.exit(ExitCode.CLEAN if comparison.is_equal else ExitCode.FAILED)


def _with_actors(ctx: click.Context, plan: Plan) -> Report:
    """Run the tree of `--memory`; ends the command when it was stopped, or failed, before it was done."""
    mute()
    show = Show(Gauge("agents", Screen()))
    agents = [child(Agent, plan.trouble)] * plan.agents
    scheduler = child(Scheduler, agents).opts(name=SCHEDULER)
    limits: list[RestartLimitReached] = []
    try:
        with run(
            CountFiles, scheduler, show.tell, name="demo", control_directory=plan.directory, shutdown=PATIENCE
        ) as system:
            system.events.attach(limits.append, RestartLimitReached)
            click.echo(_heading(plan, system.name, MOMENTS))
            system.ref(SCHEDULER).cast(Scheduler.count, plan.folder, plan.without)
            with show.gauge:
                system.wait()
    except TreeFailedError as error:
        why = limits[0] if limits else error  # the first to give up knows why; those above it only hand it on
        raise CommandError(f"{why}; {said(show.last)}") from error
    if show.last.report is None:
        click.echo(f"stopped: {said(show.last)}")
        ctx.exit(ExitCode.LEFT_OVER if system.left else ExitCode.CLEAN)
    return show.last.report


def _with_jobs(ctx: click.Context, plan: Plan, place: Place) -> Report:
    """Run the tree of jobs on its file, which is removed when all is done; ends the command as `_with_actors`."""
    mute()
    show = Show(Gauge("agents", Screen()))
    tree = child(CountDurably, place.address, plan.agents, plan.trouble, plan.folder, plan.without, show.tell)
    try:
        with run(tree, name="demo", control_directory=plan.directory) as system:
            click.echo(_heading(plan, system.name, durable.MOMENTS, place.shown))
            if place.is_shared:
                click.echo(f"another program counts them already; {place.beside}\n")
            elif place.is_resumed:
                click.echo("an earlier run was not finished, and this one goes on with it; --fresh begins anew\n")
            with show.gauge:
                system.wait()
    except TreeFailedError as error:
        raise CommandError(f"{error}; {said(show.last)}; --fresh begins anew") from error
    if show.last.gave_up:
        raise CommandError(f"{show.last.gave_up}; {said(show.last)}; --fresh begins anew")
    if show.last.report is None:
        click.echo(f"stopped: {said(show.last)}; the same command goes on from there")
        ctx.exit(ExitCode.LEFT_OVER if system.left else ExitCode.CLEAN)
    if show.last.before:
        click.echo(f"{counted(show.last.before, 'file')} had been counted before this program came\n")
    place.finish()
    return show.last.report


def _with_a_loop(ctx: click.Context, report: Report) -> tuple[list[Result], float]:
    """Read the same files without actors; ends the command on Ctrl-C."""
    results: list[Result] = []
    began = time.perf_counter()
    try:
        with Gauge("plain loop", Screen()) as gauge:
            for result in plain_loop(report.files):
                results.append(result)
                gauge.move(len(results), len(report.files))
    except KeyboardInterrupt:
        click.echo(f"the plain loop was stopped; the agents found {report}")
        ctx.exit(ExitCode.CLEAN)
    return results, time.perf_counter() - began


def _heading(plan: Plan, name: str, moments: tuple[str, ...], store: str | None = None) -> str:
    where = "" if plan.directory is None else f" --directory {shlex.quote(str(plan.directory))}"
    crash, seed = plan.trouble.crash, plan.trouble.seed
    kill = f"kill this program, even by kill -9 {os.getpid()}, say the same again, and it goes on"
    lines = [
        f"{counted(plan.agents, 'agent')} read {visible(plan.folder, PATH_LIMIT)}",
        f"each may crash {', '.join(moments)}: --crash {crash:g} --seed {seed}" * (crash > 0),
        f"what is done is kept in {visible(store or '', PATH_LIMIT)}\n{kill}" * (store is not None),
        f"to look at them, type in another terminal:  {visible(f'otpy tree {name} --watch{where}', PATH_LIMIT)}",
    ]
    return "\n".join(line for line in lines if line) + "\n"
