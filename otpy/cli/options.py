"""Options that several commands have, so that each is spelt and explained in one place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["directory_option"]

F = TypeVar("F", bound="Callable[..., object]")


def directory_option(what: str) -> Callable[[F], F]:
    """The option `--directory`, for `what` is in it; a command gets it as a `Path`, or None for the usual place."""
    return click.option(
        "--directory",
        type=click.Path(path_type=Path),
        envvar="OTPY_RUNTIME_DIR",
        help=f"{what}, if not in the usual place; also $OTPY_RUNTIME_DIR.",
    )
