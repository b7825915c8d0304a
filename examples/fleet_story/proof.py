"""Holds the agents' own books against the hub's database: `python proof.py FOLDER --rate 50`.

It ends with 1 when a reading is missing, was counted twice or out of order, or too many have called the hub at once.
"""

from __future__ import annotations

import argparse
import sqlite3
from bisect import bisect_left
from collections import Counter
from itertools import pairwise
from pathlib import Path

WINDOW = 100
"""Milliseconds in which calls are counted together."""


def books(folder: Path) -> tuple[set[tuple[str, int]], set[tuple[str, int]]]:
    """What the agents have read, and what of it was put: a kill may come between the two."""
    lines = [
        (path.parent.name, *line.split())
        for path in sorted(folder.glob("agents/*/book"))
        for line in path.read_text().splitlines()
    ]
    read = {(agent, int(number)) for agent, word, number in lines if word == "read"}
    return read, {(agent, int(number)) for agent, word, number in lines if word == "kept"}


def most_at_once(times: list[int]) -> int:
    times = sorted(times)
    return max((bisect_left(times, time + WINDOW) - place for place, time in enumerate(times)), default=0)


def prove(folder: Path, rate: float) -> bool:
    read, kept = books(folder)
    with sqlite3.connect(folder / "hub.db") as hub:
        rows = hub.execute("select sensor, number from reading order by id").fetchall()
        calls = hub.execute("select milliseconds, fresh from call").fetchall()
        away = [time for (time,) in hub.execute("select milliseconds from turned_away")]
    counts, numbers = Counter(rows), dict[str, list[int]]()
    for sensor, number in rows:
        numbers.setdefault(sensor, []).append(number)
    missing = kept - counts.keys()
    twice = sum(count - 1 for count in counts.values())
    unordered = sum(one > other for own in numbers.values() for one, other in pairwise(own))
    unread = counts.keys() - read
    taken = [time for time, _ in calls]
    peak, bound = most_at_once(taken), 1.5 * rate * WINDOW / 1_000 + 1
    for words, number in [
        ("readings by the books of the agents", len(kept)),
        ("and killed in the middle of, but there", len(counts.keys() - kept)),
        ("readings in the database of the hub", len(rows)),
        ("missing", len(missing)),
        ("counted twice", twice),
        ("out of order", unordered),
        ("nobody has read", len(unread)),
        ("batches that the hub has taken", len(calls)),
        ("of which nothing was new", sum(not fresh for _, fresh in calls)),
        (f"most of them within {WINDOW} ms; {bound:g} may be", peak),
        ("calls that were told to come later", len(away)),
        (f"most calls of both kinds within {WINDOW} ms", most_at_once([*taken, *away])),
    ]:
        print(f"{number:8}  {words}")
    return bool(rows) and not (missing or twice or unordered or unread) and peak <= bound


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rate", type=float, default=50.0)
    options = parser.parse_args()
    raise SystemExit(not prove(options.folder, options.rate))
