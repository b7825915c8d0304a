"""`otpy check module:Tree`: looks a tree over without starting anything, and tells all that is wrong with it."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from otpy.cli.formats import counted
from otpy.cli.lazy import CommandError
from otpy.cli.options import directory_option, init_option, json_option
from otpy.cli.part_views import check_view
from otpy.cli.run import SHUTDOWN, load
from otpy.cli.screen import console, guides_for
from otpy.core.exit_codes import ExitCode
from otpy.core.text import visible

if TYPE_CHECKING:
    from pathlib import Path

    from otpy.core.part import Finding, Part
    from otpy.core.spec import ChildSpec

__all__ = ["Checked", "check", "look_over", "spec_of"]


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check has found."""

    wanted: str
    """What the program is to be called."""
    name: str
    """What it would be called if it were started now."""
    socket: str | None
    """The directory of its control socket; None when there would be none."""
    root: Part | None
    """The tree; None when the root itself cannot be used."""
    findings: tuple[Finding, ...]
    """Errors first, then warnings."""

    def fails(self, *, strict: bool) -> bool:
        """Whether there is an error, or with `strict` anything at all."""
        return any(strict or finding.level == "error" for finding in self.findings)


@click.command
@click.argument("target", metavar="MODULE:TREE")
@click.argument("arguments", metavar="[ARGUMENT]...", nargs=-1)
@click.option("--name", help="What it is to be called; by default after the tree.")
@click.option(
    "--shutdown",
    type=click.FloatRange(min=0),
    default=SHUTDOWN,
    show_default=True,
    help="Seconds in which all must have stopped, as for otpy run.",
)
@init_option()
@click.option("--strict", is_flag=True, help="Fail on warnings, too.")
@json_option()
@directory_option("Where the socket is to go")
@click.pass_context
def check(
    ctx: click.Context,
    /,
    target: str,
    arguments: tuple[str, ...],
    *,
    name: str | None,
    shutdown: float,
    with_init: bool,
    strict: bool,
    as_json: bool,
    directory: Path | None,
) -> None:
    """Look the tree TREE of the module MODULE over; starts nothing.

    Ends with 70 when something keeps the tree from starting, or, with --strict, when anything is doubtful.
    """
    with redirect_stdout(sys.stderr):  # what the tree's own code prints is no part of the answer
        spec = spec_of(load(target), arguments)
        checked = look_over(spec, name, deadline=shutdown, with_init=with_init, directory=directory)
    if as_json:
        click.echo(json.dumps(_plain(checked), indent=2))
    else:
        screen = console()
        view = check_view(checked.root, checked.findings, screen.width, guides_for(screen))
        screen.print(view, Text(_summary(checked)))
    if checked.fails(strict=strict):
        ctx.exit(ExitCode.FAILED)


def spec_of(tree: Any, arguments: tuple[str, ...]) -> ChildSpec:  # Any: as `load`
    """The root's spec, as `otpy run` would make it."""
    from otpy.core.spec import ChildSpec, child  # noqa: PLC0415 - as in `run`

    if isinstance(tree, ChildSpec) and arguments:
        raise CommandError("a child spec has its arguments already")
    return tree if isinstance(tree, ChildSpec) else child(tree, *arguments)


def look_over(
    spec: ChildSpec, name: str | None, *, deadline: float, with_init: bool, directory: Path | None
) -> Checked:
    """Check a tree, its deadline, and what its control socket needs."""
    from otpy.actors.survey import survey  # noqa: PLC0415 - as in `run`
    from otpy.core.doubts import doubts  # noqa: PLC0415
    from otpy.core.naming import snake  # noqa: PLC0415

    wanted = name or snake(spec.id)
    own, socket, about_socket = _socket(wanted, directory)
    found = survey(own, spec, with_init=with_init)
    warnings = [] if found.root is None else doubts(found.root, deadline)
    return Checked(wanted, own, socket, found.root, (*found.errors, *about_socket, *warnings))


def _socket(name: str, directory: Path | None) -> tuple[str, str | None, list[Finding]]:
    """The name it would get, and the directory of its socket, or why there would be none."""
    from otpy.control.claim import free_name  # noqa: PLC0415 - as in `run`
    from otpy.control.directory import default_directory  # noqa: PLC0415
    from otpy.control.errors import DirectoryError  # noqa: PLC0415
    from otpy.core.part import Finding  # noqa: PLC0415

    try:
        return free_name(name, directory), str(directory or default_directory()), []
    except DirectoryError as error:
        return name, None, [Finding("warning", name, f"it would run without a control socket: {error}")]


def _summary(checked: Checked) -> str:
    errors = sum(finding.level == "error" for finding in checked.findings)
    warnings = len(checked.findings) - errors
    said = [counted(errors, "error")] * bool(errors) + [counted(warnings, "warning")] * bool(warnings)
    taken = f"; {checked.wanted} is running, so this one would be {checked.name}" * (checked.wanted != checked.name)
    return visible(f"{checked.wanted}: {', '.join(said) or 'nothing to say against it'}; nothing was started{taken}")


def _plain(checked: Checked) -> dict[str, object]:
    return {
        "name": checked.name,
        "socket": checked.socket,
        "tree": None if checked.root is None else _plain_part(checked.root),
        "findings": [asdict(finding) for finding in checked.findings],
    }


def _plain_part(part: Part) -> dict[str, object]:
    """One part as lists and maps; times without end are null, for JSON has none."""
    options = part.options
    flags = part.flags
    return {
        "path": part.path,
        "kind": part.kind,
        "type": "supervisor" if part.is_supervisor else "worker",
        "place": part.place,
        "name": part.name,
        "restart": options.restart,
        "significant": options.significant,
        "shutdown": None if part.shutdown == float("inf") else part.shutdown,
        "start_timeout": options.start_timeout,
        "backoff": None if options.backoff is None else asdict(options.backoff),
        "limit": None if options.limit is None else asdict(options.limit),
        "unknown": part.unknown,
        "supervisor": None if flags is None else asdict(flags),
        "children": [_plain_part(child) for child in part.children],
    }
