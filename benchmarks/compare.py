"""`python -m benchmarks.compare a.json b.json`: the ratio per row of two runs, as of two Pythons or two commits."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmarks.table import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.report import Record, RowRecord

TOLERANCE = 0.3
"""A row that is worse by more than this share is marked, as the aim says of 3.13 against 3.11."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns:
        0, or 1 when a row of the second run is worse by more than the tolerance.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description="Compare two runs, row by row.")
    parser.add_argument("first", type=Path, help="what `benchmarks.kernel --json` printed")
    parser.add_argument("second", type=Path, help="the same, of the run in question")
    options = parser.parse_args(argv)
    first, second = (json.loads(path.read_text(encoding="utf-8")) for path in (options.first, options.second))
    pairs = matched(first, second)
    Console().print(table(pairs, heading(first), heading(second)))
    return int(any(is_worse(row, ratio(row, other)) for row, other in pairs))


def matched(first: Record, second: Record) -> list[tuple[RowRecord, RowRecord]]:
    """The rows that are in both runs."""
    others = {row["name"]: row for row in second["rows"]}
    return [(row, others[row["name"]]) for row in first["rows"] if row["name"] in others]


def ratio(row: RowRecord, other: RowRecord) -> float | None:
    """The second run's figure over the first's; None where one has none."""
    if not row["otpy"] or other["otpy"] is None:
        return None
    return other["otpy"] / row["otpy"]


def is_worse(row: RowRecord, found: float | None) -> bool:
    """Whether the second run falls behind by more than the tolerance."""
    if found is None:
        return False
    return found < 1 - TOLERANCE if row["better"] == "more" else found > 1 + TOLERANCE


def heading(run: Record) -> str:
    return f"{run['python']}, otpy {run['otpy']}{', quick' if run['quick'] else ''}"


def table(pairs: list[tuple[RowRecord, RowRecord]], first: str, second: str) -> Table:
    """Row by row; a row that is worse by more than the tolerance in red."""
    shown = Table("row", "unit", first, second, "ratio", box=None, pad_edge=False)
    for row, other in pairs:
        found = ratio(row, other)
        text = "–" if found is None else f"{found:.2f}×"
        style = "red" if is_worse(row, found) else ""
        shown.add_row(row["name"], row["unit"], number(row["otpy"]), number(other["otpy"]), Text(text, style=style))
    return shown


if __name__ == "__main__":
    raise SystemExit(main())
