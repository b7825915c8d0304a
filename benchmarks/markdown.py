"""`python -m benchmarks.markdown FILE…`: runs of `benchmarks.kernel --json` as tables for a page of the docs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.table import MARKS, number, versus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from benchmarks.report import AimRecord, Record, RowRecord


def main(argv: Sequence[str] | None = None) -> int:
    """Print a table for each file, or for what comes on standard input."""
    names = sys.argv[1:] if argv is None else argv
    texts = [Path(name).read_text(encoding="utf-8") for name in names] or [sys.stdin.read()]
    for text in texts:
        print("\n".join(page(json.loads(text))))
    return 0


def page(record: Record) -> Iterator[str]:
    """One run: what it ran on, its table, and what has no figure."""
    machine = record["machine"]
    kind = "quick" if record["quick"] else "full"
    versions = ", ".join(f"{name} {text}" for name, text in record["versions"].items())
    yield f"{record['python']}, {record['date'][:10]}, {kind} run, {machine['processor']}, {machine['cores']} cores."
    yield f"Versions: {versions}."
    yield ""
    yield "| row | unit | otpy | floor | peers (otpy's ratio) | aims |"
    yield "|---|---|---|---|---|---|"
    yield from (line(row) for row in record["rows"])
    yield ""
    yield from (f"No figure: {what}: {why}." for what, why in record["skipped"].items())


def line(row: RowRecord) -> str:
    """One row; a row that a rival leads names it in bold."""
    peers = (
        f"**{name}** {versus(row, value)}" if name in row["behind"] else f"{name} {versus(row, value)}"
        for name, value in row["peers"].items()
    )
    unit = f"{row['unit']} {'↑' if row['better'] == 'more' else '↓'}"
    cells = (f"`{row['name']}`", unit, number(row["otpy"]), versus(row, row["floor"]), joined(peers))
    return f"| {' | '.join(cells)} | {joined(map(aim, row['aims']))} |"


def joined(parts: Iterable[str]) -> str:
    """Parts of one cell, below each other."""
    return "<br>".join(parts)


def aim(one: AimRecord) -> str:
    """An aim, whether it was reached, and what was."""
    against = f" × {one['against']}" if one["against"] else ""
    reached = "" if one["reached"] is None else f" (is {one['reached']:.3g})"
    return f"{MARKS[one['met']][0]} {one['factor']:g}{against}{reached}"


if __name__ == "__main__":
    sys.exit(main())
