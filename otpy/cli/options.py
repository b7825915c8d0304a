"""Options that several commands have, so that each is spelt and explained in one place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["directory_option", "init_option", "json_option"]

F = TypeVar("F", bound="Callable[..., object]")


def directory_option(what: str) -> Callable[[F], F]:
    """The option `--directory`, for `what` is in it; a command gets it as a `Path`, or None for the usual place."""
    return click.option(
        "--directory",
        type=click.Path(path_type=Path),
        envvar="OTPY_RUNTIME_DIR",
        help=f"{what}, if not in the usual place; also $OTPY_RUNTIME_DIR.",
    )


def json_option(what: str = "one JSON object") -> Callable[[F], F]:
    """The option `--json`, which prints `what` for programs; a command gets it as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=f"Print {what}.")


def init_option() -> Callable[[F], F]:
    """The option `--init` of commands that look at a declared tree; they get it as `with_init`."""
    words = "Run the init of supervisors too, on objects that never run."
    return click.option("--init", "with_init", is_flag=True, help=words)
