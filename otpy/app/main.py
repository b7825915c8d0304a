"""`main`: a program that is nothing but its tree."""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from otpy.app.run import run
from otpy.core.exit_codes import ExitCode
from otpy.core.text import visible
from otpy.errors import OtpyError

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.app.application import Application
    from otpy.core.spec import ChildSpec

__all__ = ["main"]

log = logging.getLogger("otpy")


def main(tree: Callable[..., Any] | ChildSpec, *args: Any, **options: Any) -> int:
    """Run a tree until it is told to stop or gives up; returns the exit code (`otpy.core.exit_codes`).

    Once the tree is up, one line says so, and how to look at it: in the log, where the program writes one that takes
    it (level info), else on standard error.
    """
    system: Application | None = None
    try:
        with run(tree, *args, **options) as system:
            _greet(system.name, is_open=options.get("control") != "off")
            system.wait()
    except OtpyError as error:
        log.critical("%s", error)
        return ExitCode.FAILED
    return ExitCode.LEFT_OVER if system.left or system.undone else ExitCode.CLEAN


def _greet(name: str, *, is_open: bool) -> None:
    """Say that the tree is up: in a log whose lines somebody reads by machine, no line may look different.

    A standard error that is closed is no reason to fail.
    """
    look = f"; `otpy tree {name}` in another terminal shows it" if is_open else ""
    words = f"{visible(name)} runs{look}"
    if log.hasHandlers() and log.isEnabledFor(logging.INFO):
        log.info("%s", words)
        return
    with suppress(OSError, ValueError, AttributeError):
        print(words, file=sys.stderr, flush=True)  # noqa: T201 - it is for who started it
