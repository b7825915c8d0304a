"""What it costs a program to have otpy at hand, and a command to look at one: processor time of fresh interpreters.

The floor is a bare interpreter that imports asyncio, as nearly every service does. Otpy and the floor take the same
interpreters; the byte code of both is cached, as it is from the second start on.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.model import Figures

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.model import Job

ROOT = Path(__file__).parents[1]


def of(row: str, code: str) -> Callable[[Job], Figures]:
    """Measures the row by programs that do but this; the least of them, as all else is the machine's own business."""

    def measure(job: Job) -> Figures:
        spent(code)  # it may have to compile
        return Figures(values={row: min(spent(code) for _ in range(job.size("programs"))) * 1_000})

    return measure


def spent(code: str) -> float:
    """Seconds of processor time that one took."""
    environment = {name: word for name, word in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=environment) as program:
        _, status, used = os.wait4(program.pid, 0)
        program.returncode = os.waitstatus_to_exitcode(status)
    if program.returncode:
        raise RuntimeError(f"{code!r} ended with {program.returncode}")
    return used.ru_utime + used.ru_stime


OTPY = {
    "import": of("import_ms", "from otpy import GenServer"),
    "look": of("look_ms", "import otpy.cli.tree"),
}
FLOOR = {"import": of("import_ms", "import asyncio"), "look": of("look_ms", "import click, rich.console, rich.table")}
