"""`otpy explain module:Tree --crash PATH`: what the end of one actor would take along; starts nothing."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from typing import TYPE_CHECKING, get_args

import click

from otpy.cli.check import spec_of
from otpy.cli.lazy import CommandError
from otpy.cli.options import init_option, json_option
from otpy.cli.part_views import explain_view
from otpy.cli.run import load
from otpy.cli.screen import console
from otpy.core.consequences import End, foretell, thresholds

if TYPE_CHECKING:
    from otpy.core.part import Part
    from otpy.core.spec import ChildSpec

__all__ = ["explain"]


@click.command
@click.argument("target", metavar="MODULE:TREE")
@click.argument("arguments", metavar="[ARGUMENT]...", nargs=-1)
@click.option("--crash", "path", required=True, metavar="PATH", help="Who ends, such as shop/feed or shop/sessions/1.")
@click.option("--reason", type=click.Choice(get_args(End)), default="crash", show_default=True, help="How.")
@click.option("--times", type=click.IntRange(1, 1_000), default=1, show_default=True, help="How often in a row.")
@click.option("--name", help="What the program is called; by default after the tree.")
@init_option()
@json_option()
def explain(
    target: str,
    arguments: tuple[str, ...],
    *,
    path: str,
    reason: End,
    times: int,
    name: str | None,
    with_init: bool,
    as_json: bool,
) -> None:
    """Tell what the end of the actor at PATH would take along in the tree TREE of the module MODULE.

    It is foretold from the functions that supervisors use, as if all else went well; nothing is started.
    """
    with redirect_stdout(sys.stderr):  # what the tree's own code prints is no part of the answer
        root = _declared(spec_of(load(target), arguments), name, with_init=with_init)
    rounds, passed = foretell(root, path, reason, times), thresholds(root, path, reason)
    if as_json:
        plain = {"path": path, "reason": reason, "rounds": [asdict(each) for each in rounds]}
        click.echo(json.dumps(plain | {"thresholds": [asdict(each) for each in passed]}, indent=2))
        return
    console().print(explain_view(path, reason, rounds, passed))


def _declared(spec: ChildSpec, name: str | None, *, with_init: bool) -> Part:
    """The tree as a value; one that could not start has no consequences."""
    from otpy.actors.survey import survey  # noqa: PLC0415 - as in `run`
    from otpy.control.claim import check_name  # noqa: PLC0415
    from otpy.core.naming import snake  # noqa: PLC0415

    wanted = name or snake(spec.id)
    check_name(wanted)
    found = survey(wanted, spec, with_init=with_init)
    if found.root is None or found.errors:
        more = f" (and {len(found.errors) - 1} more: otpy check)" if len(found.errors) > 1 else ""
        raise CommandError(f"{found.errors[0]}{more}")
    return found.root
