"""A reading as plain data, for a payload: small, bounded, and looked at in each part when it comes from elsewhere."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgpack

from otpy.core.number import is_number
from otpy.core.text import safe_repr
from otpy.errors import OtpyError
from otpy.metrics.catalogue import CATALOGUE
from otpy.metrics.reading import MOST_TEXT, Distribution

if TYPE_CHECKING:
    from otpy.metrics.catalogue import Entry
    from otpy.metrics.reading import Reading, Value

__all__ = ["SnapshotError", "reading_of", "snapshot_of"]

VERSION = 1
"""The first item of a snapshot; a later otpy may write it otherwise, and will still read these."""
MOST_SERIES = 20_000
"""Series of one snapshot."""


class SnapshotError(OtpyError, ValueError):
    """What has come is no snapshot of metrics."""


def snapshot_of(reading: Reading, most_bytes: int) -> tuple[list[Any], int]:
    """As plain data of at most so many bytes, and how many metrics that has left out: the largest."""
    plain = {name: [_row(labels, value) for labels, value in values.items()] for name, values in reading.items()}
    sizes = {name: len(msgpack.packb([name, rows])) for name, rows in plain.items()}
    kept, size = {}, len(msgpack.packb([VERSION, {}]))
    for name in sorted(plain, key=sizes.__getitem__):
        size += sizes[name]
        if size > most_bytes:
            break
        kept[name] = plain[name]
    return [VERSION, kept], len(plain) - len(kept)


def reading_of(plain: Any) -> Reading:
    """The way back. Raises SnapshotError. What this otpy does not know, as a newer one's metrics, is left out."""
    if not (isinstance(plain, list) and len(plain) > 1 and isinstance(plain[1], dict)):
        raise SnapshotError(f"no snapshot of metrics: {safe_repr(plain)}")
    if plain[0] != VERSION:
        raise SnapshotError(f"a snapshot of metrics by a newer otpy (version {safe_repr(plain[0])})")
    reading: Reading = {}
    series = 0
    for name, rows in plain[1].items():
        entry = CATALOGUE.get(name) if isinstance(name, str) else None
        if entry is None:
            continue
        values = reading[entry.name] = {}
        for row in rows if isinstance(rows, list) else ():
            labels, value = _parsed(entry, row)
            values[labels] = value
        series += len(values)
    if series > MOST_SERIES:
        raise SnapshotError(f"a snapshot with {series} series, more than {MOST_SERIES}")
    return reading


def _row(labels: tuple[str, ...], value: Value) -> list[Any]:
    if not isinstance(value, Distribution):
        return [*labels, value]
    bounds = [bound for bound, _ in value.buckets[:-1]]
    return [*labels, [bounds, [count for _, count in value.buckets], value.total]]


def _parsed(entry: Entry, row: Any) -> tuple[tuple[str, ...], Value]:
    """One series, each part of which may be anything."""
    if not (isinstance(row, list) and len(row) == len(entry.labels) + 1):
        raise SnapshotError(f"{entry.name}: {safe_repr(row)} has not the labels that it should")
    *labels, value = row
    if not all(isinstance(label, str) and len(label) <= MOST_TEXT for label in labels):
        raise SnapshotError(f"{entry.name}: {safe_repr(labels)}: labels are texts of up to {MOST_TEXT} characters")
    if entry.type == "histogram":
        return tuple(labels), _distribution(entry, value)
    if not is_number(value):
        raise SnapshotError(f"{entry.name}: {safe_repr(value)} is no number")
    return tuple(labels), float(value)


def _distribution(entry: Entry, value: Any) -> Distribution:
    match value:
        case [list() as bounds, list() as counts, total] if (
            len(counts) == len(bounds) + 1 and is_number(total) and _rise(bounds) and _are_counts(counts)
        ):
            return Distribution(tuple(zip((*map(float, bounds), math.inf), counts, strict=True)), float(total))
    raise SnapshotError(f"{entry.name}: {safe_repr(value)} is no histogram")


def _rise(bounds: list[Any]) -> bool:
    """Whether they are finite, and each is larger than the one before: two alike would be one series twice."""
    return all(map(is_number, bounds)) and all(one < other for one, other in pairwise([*map(float, bounds), math.inf]))


def _are_counts(counts: list[Any]) -> bool:
    return all(type(count) is int and is_number(count) for count in counts)
