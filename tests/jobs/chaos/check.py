"""What must hold after a round, whatever happened in it: b.15 of the specification, by number."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["problems"]

FINAL = ("done", "dead", "cancelled")
LIMIT = 2


def problems(folder: Path, cron_at: int) -> list[str]:
    """All that is wrong, in words."""
    lines = [json.loads(line) for line in (folder / "history").read_text().splitlines()]
    db = sqlite3.connect(folder / "jobs.db")
    db.row_factory = sqlite3.Row
    try:
        rows = {row["id"]: row for row in db.execute("select * from otpy_job")}
        notes = list(db.execute("select * from chaos order by seq"))
        tally = {(row["queue"], row["state"]): row["number"] for row in db.execute("select * from otpy_tally")}
    finally:
        db.close()
    return [
        *_kept(lines, rows),
        *_ended_once(notes),
        *_attempts(rows, notes),
        *_one_after_the_other(notes),
        *_once_for_each_key(rows),
        *_one_of_each(lines, rows, notes),
        *_limits(notes),
        *_schedules(rows, notes, cron_at),
        *_leaders(notes),
        *_all_ended(rows),
        *_begun(lines, rows),
        *_numbers(rows, tally),
    ]


def _kept(lines: list[dict[str, Any]], rows: dict[int, Any]) -> Iterator[str]:
    for line in lines:
        if "acked" in line and (line["id"] not in rows or rows[line["id"]]["own_key"] != line["acked"]):
            yield f"I1: {line['acked']} was acknowledged as job {line['id']}, and is lost"


def _ended_once(notes: list[Any]) -> Iterator[str]:
    ends = Counter((note["job"], note["token"]) for note in notes if note["what"] == "end")
    yield from (
        f"I2: job {job}, token {token} ended {count} times" for (job, token), count in ends.items() if count > 1
    )


def _attempts(rows: dict[int, Any], notes: list[Any]) -> Iterator[str]:
    claims = Counter(note["job"] for note in notes if note["what"] == "claim")
    for job, row in rows.items():
        if row["errors"] > row["max_errors"] or row["crashes"] > row["max_crashes"]:
            yield f"I3: job {job}: {row['errors']} errors, {row['crashes']} crashes"
        if claims[job] != row["token"]:
            yield f"I3: job {job} was claimed {claims[job]} times, its token is {row['token']}"
        if row["token"] > row["errors"] + row["crashes"] + row["releases"] + 1:
            yield f"I3: job {job} was begun {row['token']} times, for {row['errors']} errors, {row['crashes']} crashes"


def _one_after_the_other(notes: list[Any]) -> Iterator[str]:
    held: dict[int, int] = {}
    for note in notes:
        job, token = note["job"], note["token"]
        if note["what"] == "claim":
            if job in held:
                yield f"I4: job {job} was given as {token} while {held[job]} had it"
            held[job] = token
        elif note["what"] == "end" and held.pop(job, None) != token:
            yield f"I4: job {job}, token {token} ended, and had not begun"


def _once_for_each_key(rows: dict[int, Any]) -> Iterator[str]:
    keys = Counter(row["own_key"] for row in rows.values())
    yield from (f"I5: {count} jobs have the key {key}" for key, count in keys.items() if key and count > 1)


def _one_of_each(lines: list[dict[str, Any]], rows: dict[int, Any], notes: list[Any]) -> Iterator[str]:
    """Of jobs with one unique key no two run at once, and whoever asked for one was given one."""
    for line in lines:
        if "only" in line and (line["id"] not in rows or rows[line["id"]]["unique_key"] != line["only"]):
            yield f"I5: {line['only']} was acknowledged as job {line['id']}, which is another one"
    held: dict[str, int] = {}
    for note in notes:
        key = rows[note["job"]]["unique_key"] if note["job"] in rows else None
        if key is None:
            continue
        if note["what"] == "claim" and held.setdefault(key, note["job"]) != note["job"]:
            yield f"I5: job {note['job']} was given while job {held[key]} ran, with the key {key}"
        if note["what"] == "end":
            held.pop(key, None)


def _limits(notes: list[Any]) -> Iterator[str]:
    held: set[int] = set()
    for note in notes:
        if note["what"] == "claim" and note["more"] == "few":
            held.add(note["job"])
        elif note["what"] == "end":
            held.discard(note["job"])
        if len(held) > LIMIT:
            yield f"I6: {sorted(held)} of a queue with the limit {LIMIT} at once"
            return


def _schedules(rows: dict[int, Any], notes: list[Any], cron_at: int) -> Iterator[str]:
    fired = Counter(note["more"] for note in notes if note["what"] == "fire")
    made = Counter(row["schedule"] for row in rows.values() if row["schedule"])
    planned = min(int(note["more"]) for note in notes if note["what"] == "plan")
    due = [cron_at] if planned < cron_at else []  # a machine that is slow to start leaves the time out
    for name in ("x", "y"):
        times = sorted(int(one.split()[1]) for one in fired if one.startswith(name))
        if made[name] != len(times) or times[:1] != due:
            yield f"I7: the schedule {name} was fired at {times}, {made[name]} jobs; due {due}"
    yield from (f"I7: {one} was fired {count} times" for one, count in fired.items() if count > 1)


def _leaders(notes: list[Any]) -> Iterator[str]:
    last = 0
    for note in notes:
        epoch = note["epoch"]
        if epoch is None:
            continue
        if epoch < last or (note["what"] == "elect" and epoch == last):
            yield f"I8: a {note['what']} of epoch {epoch} after one of {last}"
        last = max(last, epoch)


def _all_ended(rows: dict[int, Any]) -> Iterator[str]:
    left = {job: row["state"] for job, row in rows.items() if row["state"] not in FINAL}
    if left:
        yield f"I10: not ended: {left}"


def _begun(lines: list[dict[str, Any]], rows: dict[int, Any]) -> Iterator[str]:
    begun = Counter((line["begin"], line["token"]) for line in lines if "begin" in line)
    yield from (
        f"I2: job {job}, token {token} was begun {count} times" for (job, token), count in begun.items() if count > 1
    )
    done: dict[int, set[int]] = defaultdict(set)
    paid = Counter(line["paid"] for line in lines if "paid" in line)
    for line in lines:
        if "effect" in line:
            done[line["effect"]].add(line["token"])
    for job, row in rows.items():
        if row["state"] == "done" and row["token"] not in done[job]:
            yield f"I2: job {job} is done by {row['token']}, which did nothing"
    yield from (f"I2: {job} paid {count} times" for job, count in paid.items() if count > rows[job]["token"])


def _numbers(rows: dict[int, Any], tally: dict[tuple[str, str], int]) -> Iterator[str]:
    found = Counter((row["queue"], row["state"]) for row in rows.values())
    told = {key: number for key, number in tally.items() if number}
    if told != dict(found):
        yield f"the numbers are {told}, and should be {dict(found)}"
