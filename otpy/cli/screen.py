"""The terminal: consoles that never interpret what they print."""

from __future__ import annotations

import errno
import os
import sys
from io import TextIOWrapper
from typing import NoReturn

from rich.console import Console

from otpy.cli.views import ASCII, UNICODE, Guides

__all__ = ["console", "guides_for"]

PIPE_WIDTH = 160
"""Columns where nobody has a screen: wide enough for whole lines in a log or a pipe."""


def console() -> Console:
    """A console on standard output as it is now.

    Views hand it `Text`, so markup and emoji codes stay what they are; what the output's encoding lacks is replaced.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    return _Screen(file=sys.stdout, width=width, markup=False, emoji=False, highlight=False, soft_wrap=False)


def guides_for(screen: Console) -> Guides:
    """What a tree is drawn with on this screen."""
    return UNICODE if screen.encoding.lower().startswith("utf") else ASCII


class _Screen(Console):
    """Leaves a broken pipe to the command; rich would end the program with 1."""

    def on_broken_pipe(self) -> NoReturn:
        self.quiet = True
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
