"""Programs with an outbox that are killed with SIGKILL: nothing that returned is lost, nothing is counted twice."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from support.forked import run
from support.outboxes import Hub

pytestmark = pytest.mark.any_python

TESTS = Path(__file__).parents[2]


def told_by(name: str, *args: object) -> str:
    """What a script says that ends well."""
    where = {**os.environ, "PYTHONPATH": f"{TESTS}:{TESTS.parent}"}
    done = run([sys.executable, TESTS / "support" / name, *map(str, args)], text=True, env=where, timeout=100)
    assert done.returncode == 0, done.stderr[-3_000:]
    return done.stdout


def play(folder: Path, rounds: int, seed: int) -> int:
    """Have it killed so often, and look what has become of it; gives how often that was in the middle of something."""
    said = told_by("outbox_kills.py", folder, rounds, seed)
    returned = {tuple(line.split()) for line in (folder / "returned").read_text().splitlines()}
    rows = Hub(folder / "hub.db").rows()
    there = {(key, str(value)) for key, value in rows}
    assert returned - there == set(), "what returned is not lost"
    assert len(rows) == len(set(rows)), "nothing is counted twice"
    for key in ("a", "b", "c"):
        values = [value for own, value in rows if own == key]
        assert values == sorted(values), "each key is in its order"
    return int(said)


def test_nothing_that_returned_is_lost_or_counted_twice_wherever_it_is_killed(tmp_path: Path) -> None:
    assert play(tmp_path, 9, seed=1) >= 6


def play_receiver(folder: Path, kills: int, seed: int) -> int:
    """Have the receiver killed so often while it is sent to, and look what it has; gives how often it was."""
    killed, code = map(int, told_by("receiver_kills.py", folder, kills, seed).split())
    assert code == 0, "the sender has got rid of all"
    rows = Hub(folder / "hub.db").rows()
    for key in ("a", "b", "c"):
        assert [value for own, value in rows if own == key] == list(range(120)), "each once, in order"
    return killed


def test_a_receiver_that_is_killed_anywhere_and_lies_has_each_row_once_and_in_order(tmp_path: Path) -> None:
    assert play_receiver(tmp_path, 8, seed=1) >= 6


def test_what_a_platform_stops_leaves_its_rows_in_the_file_or_with_the_receiver(tmp_path: Path) -> None:
    said = told_by("outbox_stops.py", tmp_path)

    ends = [line.split() for line in said.splitlines()]
    assert [end[:3] for end in ends] == [["away", "1", "0"], ["hangs", "2", "75"], ["well", "1", "0"]], said
    assert all(float(end[3]) < 20.0 for end in ends), "nobody waits for a hub that is away, or hangs"
    assert [value for _, value in Hub(tmp_path / "hub.db").rows()] == list(range(20))


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(10))
def test_the_same_with_a_receiver_many_times(tmp_path: Path, seed: int) -> None:
    assert play_receiver(tmp_path, 40, seed=seed) >= 15


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(10))
def test_the_same_many_times(tmp_path: Path, seed: int) -> None:
    assert play(tmp_path, 60, seed=seed) >= 40
