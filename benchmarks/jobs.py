"""`python -m benchmarks.jobs [--postgres] [--quick] [--json] [--rows work,growth]`: measure jobs and print a table.

With `--postgres` the jobs are on a PostgreSQL that this starts, and their peers in turn on the same one.
"""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from typing import TYPE_CHECKING

from benchmarks import kernel
from benchmarks.jobs_plan import HUEY, JOBS, LITEQUEUE, PYBREAKER
from benchmarks.model import FLOOR, OTPY
from benchmarks.pg_plan import OBAN, PG_JOBS, PROCRASTINATE
from benchmarks.postgres import SERVER, Server, programs
from benchmarks.sides import PythonSide

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from benchmarks.model import Side

PROGRAM = "benchmarks.jobs"
MODULES = {
    OTPY: "jobs_side",
    FLOOR: "jobs_floors",
    HUEY: "rivals.huey_side",
    LITEQUEUE: "rivals.litequeue_side",
    PYBREAKER: "rivals.pybreaker_side",
}
PG_MODULES = {
    OTPY: "pg_side",
    FLOOR: "pg_floors",
    PROCRASTINATE: "rivals.procrastinate_side",
    OBAN: "rivals.oban_side",
}
SETTINGS = "listen_addresses = ''\n"
"""All else is as initdb has written it: `fsync` and `synchronous_commit` are on, so each side's commits are synced."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; as `benchmarks.kernel`."""
    chooser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    chooser.add_argument("--postgres", action="store_true")
    options, rest = chooser.parse_known_args(argv)
    if not options.postgres:
        return kernel.main(rest, JOBS, partial(open_sides, MODULES), f"{PROGRAM} [--postgres]")
    where = programs()
    if where is None:
        sys.stderr.write("no PostgreSQL: no initdb on the path, nor in /usr/lib/postgresql (Debian: postgresql)\n")
        return 1
    server = Server(where, SETTINGS)
    os.environ[SERVER] = str(server.folder)
    try:
        return kernel.main(rest, PG_JOBS, partial(open_sides, PG_MODULES), f"{PROGRAM} --postgres")
    finally:
        server.remove()


def open_sides(modules: Mapping[str, str], folder: Path) -> dict[str, Callable[[], Side]]:
    """Every contender by name, made when first asked for; stores and logs go to `folder`."""
    return {
        name: lambda name=name, module=module: PythonSide(name, folder / f"{name}.log", module)  # type: ignore[misc]  # as in sides.py
        for name, module in modules.items()
    }


if __name__ == "__main__":
    sys.exit(main())
