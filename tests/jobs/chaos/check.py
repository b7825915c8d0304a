"""What is wrong after a round: by the history of its store, and by what its jobs and programs have said."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from .history import of_file
from .law import problems
from .steps import Known, rows_of
from .works import LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from .steps import Step

__all__ = ["judge", "lines_of", "problems_of_file"]

Lines = list[dict[str, Any]]


def problems_of_file(folder: Path, calm_at: int) -> list[str]:
    """All that is wrong, in words."""
    db = sqlite3.connect(folder / "jobs.db")
    try:
        steps, rows = of_file(db), dict(db.execute("select id, state from otpy_job"))
        tally = {(queue, state): number for queue, state, number in db.execute("select * from otpy_tally")}
    finally:
        db.close()
    return judge(steps, lines_of(folder), rows, tally, calm_at)


def lines_of(folder: Path) -> Lines:
    """What programs and their jobs have said."""
    return [json.loads(line) for line in (folder / "history").read_text().splitlines()]


def judge(
    steps: list[Step],
    lines: Lines,
    rows: Mapping[int, str],
    tally: Mapping[tuple[str, str], int],
    calm_at: int,
) -> list[str]:
    """All that is wrong with a store of which the rows of jobs, and their numbers, are these."""
    known = Known(
        keys={line["id"]: line["acked"] for line in lines if "acked" in line},
        unique=[(line["id"], line["only"]) for line in lines if "only" in line],
        limits=LIMITS,
        calm_at=calm_at,
    )
    return [*problems(steps, known), *_said(steps, lines), *_numbers(steps, rows, tally)]


def _said(steps: list[Step], lines: Lines) -> Iterator[str]:
    """No attempt is begun twice, and who has done a job has done something; what is done once is paid once for each."""
    begun = Counter((line["begin"], line["token"]) for line in lines if "begin" in line)
    yield from (f"I2: job {job}, token {token} was begun {n} times" for (job, token), n in begun.items() if n > 1)
    done: dict[int, set[int]] = defaultdict(set)
    for line in lines:
        if "effect" in line:
            done[line["effect"]].add(line["token"])
    rows = rows_of(steps)
    for job, row in rows.items():
        if row["state"] == "done" and row["token"] not in done[job]:
            yield f"I2: job {job} is done by {row['token']}, which did nothing"
    yield from (f"I9: {line['claimed']} were claimed in a drain" for line in lines if "claimed" in line)
    paid = Counter(line["paid"] for line in lines if "paid" in line)
    yield from (f"I2: {job} paid {count} times" for job, count in paid.items() if count > rows[job]["token"])


def _numbers(steps: list[Step], rows: Mapping[int, str], tally: Mapping[tuple[str, str], int]) -> Iterator[str]:
    """The rows are what the history has made of them, and are counted."""
    last = rows_of(steps)
    if {job: row["state"] for job, row in last.items()} != dict(rows):
        yield "history: the rows are not what it has made of them"
    found = Counter((row["queue"], row["state"]) for row in last.values())
    told = {key: number for key, number in tally.items() if number}
    if told != dict(found):
        yield f"the numbers are {told}, and should be {dict(found)}"
