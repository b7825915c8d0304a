"""A plugin for pytest: threads halt between any two lines of otpy and of its tests, now and then, for milliseconds.

So others come in between where hardly ever anybody does: who leans on being quick there, or on another's being so, is
found within a few runs, also on a machine at rest. It takes `sys.monitoring`, which CPython has from 3.12 on. Programs
that are forked halt, too; those that are started anew do not.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

__all__ = ["Halting"]

ROOT = Path(__file__).parents[2]
WHERE = tuple(f"{ROOT / folder}/" for folder in ("otpy", "tests"))
NOT_HERE = (
    f"{ROOT}/otpy/places/process/line.py",  # it leans on no signal's being handled between an assignment and a `del`
    f"{ROOT}/tests/stress/",
)
EVERY = 3_000
"""Lines from one halt to the next, on average. A test of the mean halts some ten times."""
TIMES = (0.0005, 0.001, 0.002, 0.002, 0.004, 0.008, 0.016, 0.03)
"""Seconds of one halt: some are longer than all that others have to do meanwhile."""


class Halting:
    """Has whoever is at some line halt there."""

    def __init__(self, every: int = EVERY, halt: Callable[[float], object] = sleep) -> None:
        """Count the lines of all threads together."""
        self._every, self._halt = every, halt
        self._left = self._next()

    def line(self, code: CodeType, _: int) -> Any:
        """Before each line, in its thread; of files that do not matter nothing is heard again."""
        file = code.co_filename
        if not file.startswith(WHERE) or file.startswith(NOT_HERE):
            return sys.monitoring.DISABLE
        self._left -= 1
        if self._left <= 0:
            self._left = self._next()
            self._halt(random.choice(TIMES))
        return None

    def begin(self) -> None:
        """Hear of lines from now on."""
        monitoring = sys.monitoring
        tool, events = monitoring.OPTIMIZER_ID, monitoring.events
        monitoring.use_tool_id(tool, "otpy's halts")
        monitoring.register_callback(tool, events.LINE, self.line)
        monitoring.set_events(tool, events.LINE)

    def _next(self) -> int:
        return random.randint(1, 2 * self._every - 1)


def pytest_configure() -> None:
    """Begin with the collection, for what is imported in it runs later."""
    if sys.version_info < (3, 12):
        text = "to have threads halt takes CPython 3.12 or later: there is no sys.monitoring before"
        raise pytest.UsageError(text)
    Halting().begin()
