"""The result of a run as one JSON object, which the table and the comparison read too."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from benchmarks.measure import median
from benchmarks.model import FLOOR, OTPY, RIVALS
from benchmarks.run import sizes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.model import Aim, Experiment, Row
    from benchmarks.run import Findings


class AimRecord(TypedDict):
    """One aim and how it came out."""

    factor: float
    against: str | None
    reached: float | None
    """The ratio (or the value), None where one side has no figure."""
    met: bool | None


class RowRecord(TypedDict):
    """One row; `otpy`, `peers` and `floor` are medians of the rounds."""

    name: str
    unit: str
    better: str
    otpy: float | None
    """None when otpy broke on this row; `skipped` says how."""
    peers: dict[str, float]
    floor: float | None
    what: str
    aims: list[AimRecord]
    behind: list[str]
    """The Python rivals that did better than otpy."""
    rounds: dict[str, list[float]]
    note: str | None


class Record(TypedDict):
    """One run."""

    rows: list[RowRecord]
    quick: bool
    date: str
    python: str
    otpy: str
    machine: dict[str, str | int]
    versions: dict[str, str]
    skipped: dict[str, str]
    took: dict[str, float]


def record(plan: Sequence[Experiment], findings: Findings, *, quick: bool, only: frozenset[str] | None) -> Record:
    """Make the object; `only` leaves the rows it names."""
    rows = [
        row_record(row, findings.values.get(row.name, {}), note(experiment, row, findings, quick=quick))
        for experiment in plan
        for row in experiment.rows
        if only is None or row.name in only
    ]
    return Record(
        rows=rows,
        quick=quick,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        otpy=installed("otpy"),
        machine=machine(),
        versions=findings.versions,
        skipped=findings.skipped,
        took={what: round(seconds, 2) for what, seconds in findings.took.items()},
    )


def note(experiment: Experiment, row: Row, findings: Findings, *, quick: bool) -> str | None:
    """What a reader must know: what otpy's side said, or who was measured in a smaller crowd than the row speaks of."""
    if row.name in findings.notes:
        return findings.notes[row.name]
    crowds: dict[int | float | None, list[str]] = {}
    for name in experiment.sides:
        crowds.setdefault(sizes(experiment, name, quick=quick).get("actors"), []).append(name)
    if len(crowds) == 1:
        (size,) = crowds
        return None if size == experiment.full.get("actors") else f"with {size:,} actors"
    return "; ".join(f"{', '.join(names)} with {size:,} actors" for size, names in crowds.items())


def row_record(row: Row, rounds: Mapping[str, list[float]], note: str | None) -> RowRecord:
    """One row of the object from the values of its rounds."""
    medians = {name: median(values) for name, values in rounds.items()}
    peers = {name: value for name, value in medians.items() if name not in {OTPY, FLOOR}}
    return RowRecord(
        name=row.name,
        unit=row.unit,
        better=row.better,
        otpy=medians.get(OTPY),
        peers=peers,
        floor=medians.get(FLOOR),
        what=row.what,
        aims=[judge(row, aim, medians) for aim in row.aims],
        behind=[name for name in RIVALS if name in peers and is_ahead(row, peers[name], medians.get(OTPY))],
        rounds={name: list(values) for name, values in rounds.items()},
        note=note,
    )


def judge(row: Row, aim: Aim, medians: Mapping[str, float]) -> AimRecord:
    """Whether the row reached the aim."""
    ours, theirs = medians.get(OTPY), 1.0 if aim.against is None else medians.get(aim.against)
    reached = ours / theirs if ours is not None and theirs else None
    met = None if reached is None else reached >= aim.factor if row.better == "more" else reached <= aim.factor
    return AimRecord(factor=aim.factor, against=aim.against, reached=reached, met=met)


def is_ahead(row: Row, theirs: float, ours: float | None) -> bool:
    """Whether a peer did better than otpy."""
    return ours is not None and (theirs > ours if row.better == "more" else theirs < ours)


def machine() -> dict[str, str | int]:
    """What the figures depend on, without the host's name."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": processor(),
        "cores": os.cpu_count() or 0,
        "memory_mib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20,
    }


def processor() -> str:
    """The processor's model, or its family where the system does not tell."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def installed(package: str) -> str:
    """Its version, also where it is used without being installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
