"""`python -m benchmarks.kernel [--quick] [--json] [--rows cast,call]`: measure the kernel and print a table.

The exit status tells whether otpy has a figure on each row, not whether it reached the aims: a machine may be busy.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from benchmarks.plan import PLAN
from benchmarks.report import record
from benchmarks.run import FULL, QUICK, Run
from benchmarks.sides import open_sides
from benchmarks.table import show

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.model import Experiment, Side
    from benchmarks.report import Record


def main(
    argv: Sequence[str] | None = None,
    plan: Sequence[Experiment] = PLAN,
    sides: Callable[[Path], Mapping[str, Callable[[], Side]]] = open_sides,
    program: str = "benchmarks.kernel",
) -> int:
    """Run the command line; `plan` and `sides` are for tests, and for other tables.

    Returns:
        0, or 1 when otpy has no figure on a row.
    """
    options = parser(program).parse_args(argv)
    only = frozenset(options.rows.split(",")) if options.rows else None
    chosen = choose(plan, only, program)
    if options.logs:
        options.logs.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="otpy-bench-") as folder:
        run = Run(chosen, sides(options.logs or Path(folder)), QUICK if options.quick else FULL, tell)
        result = record(chosen, run.rounds(), quick=options.quick, only=only)
    put(result, as_json=options.json)
    return int(any(row["otpy"] is None for row in result["rows"]))


def parser(program: str) -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(prog=f"python -m {program}", description="Measure otpy, and its peers beside it.")
    made.add_argument("--quick", action="store_true", help="end within 50 s; small crowds, few rounds")
    made.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    made.add_argument("--rows", metavar="NAME,NAME", help="run only these rows")
    made.add_argument("--logs", type=Path, metavar="FOLDER", help="keep there what the contenders wrote")
    return made


def choose(plan: Sequence[Experiment], only: frozenset[str] | None, program: str) -> list[Experiment]:
    """The experiments that fill a row of `only`; a name no row has ends the program with status 2."""
    if only is None:
        return list(plan)
    names = {row.name for experiment in plan for row in experiment.rows}
    if unknown := sorted(only - names):
        parser(program).error(f"no such row: {', '.join(unknown)}; there are {', '.join(sorted(names))}")
    return [experiment for experiment in plan if only & {row.name for row in experiment.rows}]


def tell(text: str) -> None:
    """Say what is measured now, where a person is looking."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()


def put(result: Record, *, as_json: bool) -> None:
    """Print the result."""
    tell("")
    if as_json:
        print(json.dumps(result, ensure_ascii=False))
    else:
        show(Console(), result)


if __name__ == "__main__":
    sys.exit(main())
