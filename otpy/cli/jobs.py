"""`otpy jobs`: the durable jobs of a running program, from another terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from otpy.cli.jobs_migrate import migrate
from otpy.cli.jobs_programs import activate, hosts, names
from otpy.cli.jobs_talk import ask, common, show_answer
from otpy.cli.jobs_views import (
    crews_view,
    job_view,
    jobs_view,
    overview_view,
    replayed_view,
    schedules_view,
)
from otpy.cli.lazy import CommandError, CommandUsageError, refuse_unknown
from otpy.cli.paths import name_argument
from otpy.cli.screen import console
from otpy.control.errors import NoSuchSystemError
from otpy.core.suggest import nearest
from otpy.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otpy.cli.reach import Reach

__all__ = ["jobs"]

BACKUP = 3_600.0
"""Seconds that a copy may take: it is of the whole file, and goes on when nobody waits for it any more."""
LIMIT = 50
"""Jobs of one page."""


class _Jobs(click.Group):
    """`otpy jobs shop` is `otpy jobs queues shop`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if len(args) > 1 and not args[1].startswith("-"):  # a program's name is followed by options alone
            refuse_unknown(self, ctx, args[0])
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["queues", *args]
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        helps = ctx.help_option_names
        if not args or (args[0].startswith("-") and args[0] not in helps):
            args = ["queues", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Jobs)
def jobs() -> None:
    """See and mend the durable jobs of the program NAME: `otpy jobs NAME` shows its queues.

    NAME may be left out of `otpy jobs`, `list` and `dead` when one program runs.
    """


schedule_option = click.option("--schedule", "is_schedule", is_flag=True, help="QUEUE is the name of a schedule.")
ids_argument = click.argument("ids", nargs=-1, required=True, type=click.IntRange(min=1))


@jobs.command("queues")
@name_argument(required=False)
@common
def queues(reach: Reach, name: str | None, engine: str | None, *, as_json: bool) -> None:
    """Show the queues of NAME: jobs by state, how long the oldest has waited, what is paused; and its crews."""
    try:
        seen = ask(reach, name or reach.only_one(), "jobs", engine)
    except NoSuchSystemError as error:
        near = nearest(name or "", jobs.commands)
        if near is None:
            raise
        raise CommandUsageError(f"{error}; or did you mean otpy jobs {near}?") from error
    screen = console()
    show_answer(seen, as_json=as_json, view=lambda: overview_view(seen, screen.width))


@jobs.command("list")
@name_argument(required=False)
@click.option("--queue", help="Only of this one.")
@click.option("--state", help="Only in this one: scheduled, ready, running, done, dead, cancelled, replayed.")
@click.option("--kind", help="Only of this kind.")
@click.option("--before", type=click.IntRange(min=1), help="Only with a lower number: the next page.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=LIMIT, show_default=True, help="At most so many.")
@common
def list_(reach: Reach, name: str | None, engine: str | None, *, as_json: bool, **look: Any) -> None:
    """List jobs of NAME, the newest first."""
    _list(reach, name or reach.only_one(), engine, look, as_json=as_json)


@jobs.command("dead")
@name_argument(required=False)
@click.option("--queue", help="Only of this one.")
@click.option("--kind", help="Only of this kind.")
@click.option("--before", type=click.IntRange(min=1), help="Only with a lower number: the next page.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=LIMIT, show_default=True, help="At most so many.")
@common
def dead(reach: Reach, name: str | None, engine: str | None, *, as_json: bool, **look: Any) -> None:
    """List the dead letters of NAME: jobs that were given up, and wait for somebody to look."""
    _list(reach, name or reach.only_one(), engine, look | {"state": "dead"}, as_json=as_json)


@jobs.command("show")
@name_argument()
@click.argument("id", type=click.IntRange(min=1))
@common
def show(reach: Reach, name: str, engine: str | None, *, id: int, as_json: bool) -> None:
    """Show one job of NAME: its arguments, its state, and each attempt that failed. Secrets are hidden."""
    seen = ask(reach, name, "jobs.show", engine, id=id)
    show_answer(seen, as_json=as_json, view=lambda: job_view(seen))


@jobs.command("cancel")
@name_argument()
@ids_argument
@click.option("--reason", help="Why, for those who look later.")
@common
def cancel(
    reach: Reach, name: str, engine: str | None, *, ids: tuple[int, ...], reason: str | None, as_json: bool
) -> None:
    """Cancel jobs of NAME by their numbers; one that runs is told, and ends so.

    Nothing is done about one that has ended, and the command says so and fails.
    """
    _change(reach, name, "jobs.cancel", engine, as_json=as_json, ids=list(ids), reason=reason)


@jobs.command("retry")
@name_argument()
@ids_argument
@common
def retry(reach: Reach, name: str, engine: str | None, *, ids: tuple[int, ...], as_json: bool) -> None:
    """Have jobs of NAME begin now that wait for their time.

    Nothing is done about one that has ended, and the command says so and fails: dead ones are replayed.
    """
    _change(reach, name, "jobs.retry", engine, as_json=as_json, ids=list(ids))


@jobs.command("replay")
@name_argument()
@click.argument("ids", nargs=-1, type=click.IntRange(min=1))
@click.option("--all", "is_all", is_flag=True, help="All dead jobs, or those that --queue and --kind leave.")
@click.option("--queue", help="With --all: only of this one.")
@click.option("--kind", help="With --all: only of this kind.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=1_000, show_default=True, help="With --all.")
@click.option("--dry-run", is_flag=True, help="With --all: change nothing, show which.")
@click.option("--force", is_flag=True, help="Also those that were replayed before.")
@click.option("--set", "changes", multiple=True, metavar="NAME=VALUE", help="With one number: change an argument.")
@click.option("--per-second", type=click.FloatRange(min=0, min_open=True), help="Begin so many in a second, not all.")
@common
def replay(
    reach: Reach,
    name: str,
    engine: str | None,
    *,
    ids: tuple[int, ...],
    is_all: bool,
    as_json: bool,
    force: bool,
    dry_run: bool,
    changes: tuple[str, ...],
    **look: Any,
) -> None:
    """Run dead jobs of NAME again, as new ones with fresh attempts; those of the given numbers, or --all.

    A VALUE is JSON where it can be read as such, else a text: --set amount=5 --set to=anna@example.org
    """
    if bool(ids) == is_all:
        raise CommandUsageError("name the jobs by their numbers, or say --all")
    if dry_run and not is_all:
        raise CommandUsageError("--dry-run goes with --all; otpy jobs show tells of one job")
    if ids and (look["queue"] or look["kind"]):
        raise CommandUsageError("--queue and --kind go with --all")
    if is_all and force:
        raise CommandUsageError("--force goes with numbers: nobody means all of them again")
    if changes and (len(ids) != 1 or look["per_second"]):
        raise CommandUsageError("--set goes with one number alone")
    words = {"ids": list(ids), "force": force, "changes": _changes(changes)} if ids else {"dry_run": dry_run}
    seen = ask(reach, name, "jobs.replay", engine, **look, **words)
    show_answer(seen, as_json=as_json, view=lambda: replayed_view(seen, is_dry=dry_run))
    if ids and not all(isinstance(one, dict) and one.get("how") == "new" for one in seen):
        raise CommandError("not all of them were replayed")


@jobs.command("pause")
@name_argument()
@click.argument("queue")
@schedule_option
@common
def pause(reach: Reach, name: str, engine: str | None, *, queue: str, is_schedule: bool, as_json: bool) -> None:
    """Begin no more jobs of QUEUE, whichever program would; those that run go on.

    Of a schedule: enqueue none, and leave out the times that pass meanwhile.
    """
    seen = ask(reach, name, "jobs.pause", engine, **_queue_or_schedule(queue, is_schedule=is_schedule))
    show_answer(seen, as_json=as_json, view=lambda: _with_doubt(_paused(name, queue, is_schedule=is_schedule), seen))


@jobs.command("resume")
@name_argument()
@click.argument("queue")
@schedule_option
@common
def resume(reach: Reach, name: str, engine: str | None, *, queue: str, is_schedule: bool, as_json: bool) -> None:
    """Let the jobs of QUEUE begin again."""
    seen = ask(reach, name, "jobs.resume", engine, **_queue_or_schedule(queue, is_schedule=is_schedule))
    show_answer(seen, as_json=as_json, view=lambda: _with_doubt(f"{visible(queue)} goes on", seen))


@jobs.command("schedules")
@name_argument()
@common
def schedules(reach: Reach, name: str, engine: str | None, *, as_json: bool) -> None:
    """List the schedules that NAME knows, whichever program has declared them, and when their next times come."""
    seen = ask(reach, name, "jobs.schedules", engine)
    screen = console()
    show_answer(seen, as_json=as_json, view=lambda: schedules_view(seen, screen.width))


for command in (names, hosts, activate, migrate):
    jobs.add_command(command)


@jobs.command("unschedule")
@name_argument()
@click.argument("schedule")
@common
def unschedule(reach: Reach, name: str, engine: str | None, *, schedule: str, as_json: bool) -> None:
    """Forget SCHEDULE; its jobs stay. One that a program declares is back when that is started again."""
    seen = ask(reach, name, "jobs.unschedule", engine, schedule=schedule)
    show_answer(seen, as_json=as_json, view=lambda: f"{visible(schedule)} is forgotten")


@jobs.command("scale")
@name_argument()
@click.argument("crew")
@click.argument("size", type=click.IntRange(1, 10_000))
@click.option("--spare", type=click.IntRange(0, 10_000), help="Agents beside those; as many as before unless said.")
@common
def scale(
    reach: Reach, name: str, engine: str | None, *, crew: str, size: int, spare: int | None, as_json: bool
) -> None:
    """Have CREW do SIZE jobs at once, until the program or its lead ends; those that run go on."""
    seen = ask(reach, name, "jobs.scale", engine, crew=crew, size=size, spare=spare)
    screen = console()
    show_answer(seen, as_json=as_json, view=lambda: crews_view(seen, screen.width))


@jobs.command("backup")
@name_argument()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@common
def backup(reach: Reach, name: str, engine: str | None, *, file: Path, as_json: bool) -> None:
    """Copy the store of NAME to FILE, as it is at one moment, while the program goes on; never over another file."""
    seen = ask(reach, name, "jobs.backup", engine, within=BACKUP, file=str(file.absolute()))
    size = seen.get("size_bytes") if isinstance(seen, dict) else None
    show_answer(seen, as_json=as_json, view=lambda: Text(f"{visible(str(file))} has all of it, {size} bytes"))


def _paused(name: str, queue: str, *, is_schedule: bool) -> str:
    back = f"otpy jobs resume {name} {queue}{' --schedule' if is_schedule else ''}"
    return f"{visible(queue)} is paused; {visible(back)} lets it go on"


def _with_doubt(said: str, seen: object) -> Text:
    """What was done, and what may be wrong about it."""
    problem = seen.get("problem") if isinstance(seen, dict) else None
    return Text(said if problem is None else f"{said}\nbut {visible(str(problem), 500)}")


def _queue_or_schedule(name: str, *, is_schedule: bool) -> dict[str, Any]:
    return {"schedule" if is_schedule else "queue": name}


def _changes(words: Iterable[str]) -> dict[str, object] | None:
    """What `--set` says. Raises CommandUsageError."""
    changes: dict[str, object] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name:
            raise CommandUsageError(f"--set {word}: say NAME=VALUE")
        try:
            changes[name] = json.loads(value)
        except ValueError:
            changes[name] = value
    return changes or None


def _list(reach: Reach, name: str, engine: str | None, look: dict[str, Any], *, as_json: bool) -> None:
    seen = ask(reach, name, "jobs.list", engine, **look)
    screen = console()
    show_answer(seen, as_json=as_json, view=lambda: jobs_view(seen, screen.width, limit=look["limit"]))


def _change(reach: Reach, name: str, verb: str, engine: str | None, *, as_json: bool, **params: Any) -> None:
    seen = ask(reach, name, verb, engine, **params)
    screen = console()
    show_answer(seen, as_json=as_json, view=lambda: jobs_view(seen, screen.width))
    jobs = [one for one in seen if isinstance(one, dict)] if isinstance(seen, list) else []
    if idle := [f"{one.get('id')}: {one['problem']}" for one in jobs if one.get("problem")]:
        raise CommandError(f"nothing was done about {', '.join(idle)}{_replay_hint(name, jobs, verb)}")


def _replay_hint(name: str, jobs: list[dict[str, Any]], verb: str) -> str:
    dead = [str(one.get("id")) for one in jobs if verb == "jobs.retry" and one.get("state") == "dead"]
    return f"; otpy jobs replay {name} {' '.join(dead)} runs again what is dead" if dead else ""
