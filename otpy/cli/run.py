"""`otpy run module:Tree`: starts a tree as a program of its own, for a service manager or a terminal."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from otpy.cli.lazy import CommandError, CommandUsageError
from otpy.cli.options import directory_option
from otpy.control.rights import Rights
from otpy.core.suggest import did_you_mean, nearest
from otpy.core.text import exception_line, type_name
from otpy.errors import OtpyError, SpecError

if TYPE_CHECKING:
    from types import ModuleType

    from otpy.logs.line import Format

__all__ = ["SHUTDOWN", "load", "run"]

SHUTDOWN = 25.0
"""Seconds, as in `otpy.app.application`, which is not imported to show a help page."""
SWITCH_INTERVAL = 0.001
"""Seconds; a fifth of Python's own, so that short turns need not wait long for computing ones."""


@click.command
@click.argument("target", metavar="MODULE:TREE")
@click.argument("arguments", metavar="[ARGUMENT]...", nargs=-1)
@click.option("--name", help="What it is called; by default after the tree.")
@click.option(
    "--control",
    type=click.Choice(get_args(Rights)),
    default="operate",
    show_default=True,
    help="What other terminals may do.",
)
@click.option(
    "--shutdown",
    type=click.FloatRange(min=0),
    default=SHUTDOWN,
    show_default=True,
    help="Seconds in which all must have stopped; inf waits.",
)
@click.option(
    "--switch-interval",
    type=click.FloatRange(min=0, min_open=True),
    default=SWITCH_INTERVAL,
    show_default=True,
    help="Seconds a computing thread keeps the interpreter.",
)
@click.option("--gc-freeze", is_flag=True, help="Take what is there after the start out of garbage collections.")
@click.option(
    "--state", type=click.Path(dir_okay=False), help="The file that keeps what actors persist, over restarts."
)
@click.option(
    "--log", type=click.Choice(["json", "logfmt", "console"]), help="Write all that is logged, info and above, so."
)
@directory_option("Where the socket goes")
@click.pass_context
def run(
    ctx: click.Context,
    /,
    target: str,
    arguments: tuple[str, ...],
    directory: Path | None,
    log: Format | None,
    **options: Any,  # the others are `main`'s own, by the same names
) -> None:
    """Run the tree TREE of the module MODULE until it is told to stop, or gives up.

    ARGUMENTs are handed to the tree as text; put -- before those that begin with a dash.
    """
    from otpy.app.main import main  # noqa: PLC0415 - looking at programs must not load all that runs one

    if log is not None:
        from otpy.logs.setup import configure  # noqa: PLC0415 - as above

        configure(log)
    if directory is not None:
        options["control_directory"] = directory
    ctx.exit(main(load(target), *arguments, **options))


def load(target: str) -> Any:  # whatever a module holds; what runs it says whether it is a tree
    """The object that `module:name` means, imported as `python -m` would: the current directory comes first.

    Raises:
        CommandError: there is no such module or name, or the module fails as it is imported.
    """
    module_name, colon, name = target.partition(":")
    if not (module_name and colon and name):
        raise CommandUsageError(f"{target!r} is no module:Tree, such as shop:Shop")
    if "/" in module_name or module_name.startswith("."):
        raise CommandUsageError(f"{module_name!r} is no module: name it as an import does, such as shop or shop.tree")
    import otpy.front  # noqa: F401, PLC0415 - a tree is looked at with all that it would run on

    found: object = _imported(module_name)
    for part in name.split("."):
        if not hasattr(found, part):
            raise CommandUsageError(f"{module_name} has no {name!r}: {_hint(part, found)}")
        found = getattr(found, part)
    _check_runs(target, found)
    return found


def _hint(word: str, place: object) -> str:
    """What may be meant: a name that is near, or else those of trees and actors, and not all that was imported."""
    words = [known for known in dir(place) if not known.startswith("_")]
    if nearest(word, words) is None:
        words = [known for known in words if _is_tree(getattr(place, known, None))] or words
    return did_you_mean(word, words)


def _is_tree(found: object) -> bool:
    try:
        _check_runs("", found)
    except CommandUsageError:
        return False
    return isinstance(found, type) or not callable(found)


def _check_runs(target: str, found: object) -> None:
    """Refuse what is no tree, actor or function."""
    from otpy.core.spec import ChildSpec  # noqa: PLC0415 - as in `run`
    from otpy.runtime.spawn import actor_class  # noqa: PLC0415

    if isinstance(found, ChildSpec):
        return
    if not callable(found):
        raise CommandUsageError(f"{target} is no tree, but {type_name(type(found))}")
    try:
        actor_class(target, found)
    except SpecError as error:
        raise CommandUsageError(f"{target}: {error.problem}") from error


def _imported(name: str) -> ModuleType:
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            hint = f"; a module is named without .py: {name[:-3]}" if name.endswith(".py") else ""
            raise CommandUsageError(f"no module {name!r} here ({here}) or on the path{hint}") from error
        raise CommandError(_import_failure(name, error)) from error
    except OtpyError:
        raise
    except (Exception, SystemExit) as error:  # a script that ends by itself would end this command, with its own code
        raise CommandError(_import_failure(name, error)) from error


def _import_failure(name: str, error: BaseException) -> str:
    """One line, with the last place in a file that is not Python's own import machinery."""
    places = []
    traceback = error.__traceback__
    while traceback is not None:
        places.append((traceback.tb_frame.f_code.co_filename, traceback.tb_lineno))
        traceback = traceback.tb_next
    file, line = places[-1]
    where = f" ({os.path.relpath(file)}, line {line})" if not file.startswith("<") else ""
    return f"importing {name} failed: {exception_line(error, 500)}{where}"
