"""A record as a table for people: figures, ratios to the peers, the aims beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

    from benchmarks.report import AimRecord, Record, RowRecord

MARKS = {True: ("✓", "green"), False: ("✗", "red"), None: ("–", "dim")}


def show(console: Console, record: Record) -> None:
    """Print a record: the table, what the rows mean, and what has no figure."""
    machine, kind = record["machine"], "quick" if record["quick"] else "full"
    versions = ", ".join(f"{name} {text}" for name, text in record["versions"].items())
    console.print(Text(f"{record['python']}, otpy {record['otpy']}, {record['date']}, {kind} run beside {versions}"))
    facts = f"{machine['processor']}, {machine['cores']} cores, {machine['memory_mib']} MiB, {machine['system']}"
    console.print(Text(facts))
    console.print(table(record["rows"]))
    for row in record["rows"]:
        note = f" ({row['note']})" if row["note"] else ""
        console.print(Text(f"{row['name']}: {row['what']}{note}", style="dim"))
    for what, why in record["skipped"].items():
        console.print(Text(f"no figure: {what}: {why}", style="yellow"))


def table(rows: list[RowRecord]) -> Table:
    """The rows; a ratio is otpy's figure over the other's."""
    shown = Table("row", "unit", box=None, pad_edge=False)
    shown.add_column("otpy", justify="right")
    for heading in ("floor", "peers, and otpy's ratio to each", "aims"):
        shown.add_column(heading)
    for row in rows:
        cells = [row["name"], f"{row['unit']} {'↑' if row['better'] == 'more' else '↓'}", number(row["otpy"])]
        shown.add_row(*cells, versus(row, row["floor"]), peers(row), aims(row["aims"]))
    return shown


def number(value: float | None) -> str:
    """Three digits that matter, thousands apart."""
    if value is None:
        return "–"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 3
    return f"{value:,.{digits}f}".replace(",", " ")


def versus(row: RowRecord, theirs: float | None) -> str:
    """Another's figure and the ratio to it."""
    if theirs is None:
        return ""
    ratio = f" ({row['otpy'] / theirs:.2g}×)" if row["otpy"] is not None and theirs else ""
    return number(theirs) + ratio


def peers(row: RowRecord) -> Text:
    """The peers, a rival that is ahead in red."""
    parts = [
        Text(f"{name} {versus(row, value)}", style="red" if name in row["behind"] else "")
        for name, value in row["peers"].items()
    ]
    return Text("\n").join(parts)


def aims(found: list[AimRecord]) -> Text:
    """The aims, each with a mark whether it was reached."""
    return Text("\n").join(aim(one) for one in found)


def aim(one: AimRecord) -> Text:
    mark, style = MARKS[one["met"]]
    against = f" × {one['against']}" if one["against"] else ""
    reached = f" (is {one['reached']:.3g})" if one["reached"] is not None else ""
    return Text(f"{mark} {one['factor']:g}{against}{reached}", style=style)
