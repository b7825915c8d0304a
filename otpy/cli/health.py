"""`otpy health`: whether a program lives and is ready, for the probes of a platform; without rich, to be quick."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from otpy.cli.lazy import CommandError, CommandUsageError
from otpy.cli.options import json_option
from otpy.cli.paths import name_argument
from otpy.cli.reach import reach_options
from otpy.control.errors import RemoteError
from otpy.core.exit_codes import ExitCode
from otpy.core.text import visible

if TYPE_CHECKING:
    from otpy.cli.reach import Reach

__all__ = ["health"]

QUESTIONS = ("live", "ready")
LINE = 600
"""Characters of a line of the program's."""


@click.command
@name_argument(required=False)
@click.option("--live", "questions", flag_value="live", help="Only whether it lives; else a new process must help.")
@click.option("--ready", "questions", flag_value="ready", help="Only whether it can do its work now.")
@click.option(
    "--stalled-after",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds after which what stands still is dead; 120 unless given.",
)
@json_option()
@reach_options
def health(
    reach: Reach, name: str | None, *, questions: str | None, stalled_after: float | None, as_json: bool
) -> None:
    """Tell whether the program NAME lives, and whether it is ready; NAME may be left out when one program runs.

    It ends with 0 when it is so, with 70 when not, or when the program does not answer, and with 2 when it does not
    run. The program answers from a thread of its own, also when all that its actors run on are stuck.
    """
    name = name or reach.only_one()
    seen = _ask(reach, name, {} if stalled_after is None else {"stalled_after": stalled_after})
    wanted = [question for question in QUESTIONS if questions in {None, question}]
    found = {question: _part(seen, question) for question in wanted}
    problems = [f"not {question}: {_problem(part)}" for question, part in found.items() if part["is_well"] is not True]
    if as_json:
        click.echo(json.dumps(found, indent=2))
    elif not problems:
        click.echo(f"{visible(name)} is {' and '.join(wanted)}")
    if problems and not as_json:
        click.echo(f"{visible(name)} is {'; '.join(problems)}", err=True)
    if questions is None and not as_json:  # a probe asks one of them, and wants no more
        reach.tell_of_namesakes(name)
    if problems:
        click.get_current_context().exit(ExitCode.FAILED)


def _ask(reach: Reach, name: str, params: dict[str, object]) -> object:
    with reach.connect(name) as client:
        try:
            return client.request("health", params, within=reach.hello_time)
        except RemoteError as error:
            if error.is_of_unknown_verb:
                raise CommandUsageError(f"{visible(name)} runs an otpy that cannot tell of its health") from error
            raise


def _part(seen: Any, question: str) -> dict[str, Any]:  # Any: what the program said, looked at warily
    part = seen.get(question) if isinstance(seen, dict) else None
    if not isinstance(part, dict):
        raise CommandError("the program sent something that is no look at its health")
    return part


def _problem(part: dict[str, Any]) -> str:
    return visible(str(part.get("problem")), LINE)
