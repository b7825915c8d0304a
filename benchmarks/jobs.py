"""`python -m benchmarks.jobs [--quick] [--json] [--rows work,growth]`: measure jobs and print a table."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from benchmarks.jobs_plan import HUEY, JOBS, LITEQUEUE, PYBREAKER
from benchmarks.kernel import main
from benchmarks.model import FLOOR, OTPY
from benchmarks.sides import PythonSide

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from benchmarks.model import Side

MODULES = {
    OTPY: "jobs_side",
    FLOOR: "jobs_floors",
    HUEY: "rivals.huey_side",
    LITEQUEUE: "rivals.litequeue_side",
    PYBREAKER: "rivals.pybreaker_side",
}


def open_sides(folder: Path) -> dict[str, Callable[[], Side]]:
    """Every contender by name, made when first asked for; stores and logs go to `folder`."""
    return {
        name: lambda name=name, module=module: PythonSide(name, folder / f"{name}.log", module)  # type: ignore[misc]  # as in sides.py
        for name, module in MODULES.items()
    }


if __name__ == "__main__":
    sys.exit(main(plan=JOBS, sides=open_sides, program="benchmarks.jobs"))
