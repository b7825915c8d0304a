"""What judges chaos finds what is wrong: a history that is sound, and one for each way in which it may not be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from .chaos.law import MINUTE_MS, RULES, problems
from .chaos.steps import Known, Step

if TYPE_CHECKING:
    from collections.abc import Callable

A, B = "a.1", "b.2"
NOON = 60 * MINUTE_MS
NEW: dict[str, Any] = {
    "id": 7,
    "queue": "few",
    "state": "ready",
    "token": 0,
    "owner": "",
    "lease_until": None,
    "errors": 0,
    "crashes": 0,
    "releases": 0,
    "max_errors": 3,
    "max_crashes": 3,
    "own_key": "k",
    "unique_key": "u",
    "unique_until": "finished",
    "tenant": "",
    "schedule": None,
}


class Book:
    """A history as it is written; who leads is the last that was elected."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.rows: dict[int, dict[str, Any]] = {}
        self.term: dict[str, Any] = {"name": "jobs", "owner": "", "epoch": 0}
        self.fired: dict[str, Any] | None = None

    def note(self, at: int, who: str, what: str, old: Any, new: Any) -> None:
        owner, epoch = self.term["owner"], self.term["epoch"]
        self.steps.append(Step(NOON + at, who, what, old, new, owner, epoch, NOON + at))

    def job(self, at: int, who: str, id: int = 7, **fields: Any) -> None:
        old = self.rows.get(id)
        self.rows[id] = {**(old or {**NEW, "id": id}), **fields}
        self.note(at, who, "job", old, self.rows[id])

    def elect(self, at: int, who: str, epoch: int, until: int = 60_000) -> None:
        old, self.term = self.term, {"name": "jobs", "owner": f"m:{who[-1]}:uuid", "epoch": epoch}
        self.note(at, who, "term", old, self.term)
        self.note(at, who, "beat", None, {"name": "jobs", "epoch": epoch, "expires_at": NOON + until})

    def claim(self, at: int, who: str, id: int = 7, **fields: Any) -> None:
        token = self.rows[id]["token"] + 1
        lease = {"lease_until": NOON + at + 1_000, "owner": "x", "token": token}
        self.job(at, who, id, state="running", **{**lease, **fields})

    def end(self, at: int, who: str, id: int = 7, state: str = "done", **fields: Any) -> None:
        self.job(at, who, id, state=state, lease_until=None, owner="", **fields)

    def fire(self, at: int, who: str, time: int) -> None:
        old = self.fired or {"id": "s", "fired_at": NOON}
        self.fired = {"id": "s", "fired_at": NOON + time}
        self.note(at, who, "schedule", old, self.fired)


def life() -> Book:
    """A leader is elected, a job of its own fails, is tried again by the next leader, and done; a schedule is fired."""
    book = Book()
    book.elect(0, A, 1, until=3_000)
    book.note(0, A, "schedule", None, {"id": "s", "fired_at": NOON})
    book.job(1, B)
    book.claim(10, A)
    book.job(500, A, lease_until=NOON + 1_500)
    book.end(600, A, state="scheduled", errors=1)
    book.job(700, A, state="ready")
    book.claim(800, A)
    book.elect(3_000, B, 2)
    book.end(3_100, B, state="scheduled", crashes=1)
    book.job(3_200, B, state="ready")
    book.claim(3_300, B)
    book.end(3_400, B)
    book.fire(60_010, B, MINUTE_MS)
    return book


KNOWN = Known(keys={7: "k"}, unique=[(7, "u")], limits={"few": 1}, calm_at=NOON + 60_000)


def test_a_sound_history_is_one() -> None:
    assert problems(life().steps, KNOWN) == []


def second(book: Book, at: int = 4_000, **fields: Any) -> None:
    """Another job, which runs."""
    book.job(at, B, 8, own_key=None, unique_key=None, **fields)
    book.claim(at + 1, B, 8)


def _lost(book: Book) -> None:
    book.note(4_000, A, "job", book.rows[7], None)


def _ends_twice(book: Book) -> None:
    book.job(4_000, B, state="running", lease_until=NOON + 5_000)
    book.end(4_001, B)


def _two_run(book: Book) -> None:
    second(book)
    book.job(4_002, B, 9, own_key=None, unique_key=None)
    book.claim(4_003, B, 9)
    book.end(4_004, B, 8)
    book.end(4_005, B, 9)


def _comes_back_to_life(book: Book) -> None:
    second(book)
    book.job(5_500, B, 9, own_key=None, unique_key=None)
    book.claim(5_501, B, 9)
    book.job(5_600, B, 8, lease_until=NOON + 6_600)
    book.end(5_700, B, 8)
    book.end(5_800, B, 9)


def _taken_from_the_living(book: Book) -> None:
    second(book)
    book.elect(60_020, A, 3)
    book.job(60_030, B, 8, lease_until=NOON + 62_000)
    book.end(60_040, A, 8, state="dead")


def _given_by_no_leader(book: Book) -> None:
    book.job(4_000, B, 8, own_key=None, unique_key=None)
    book.claim(4_001, A, 8)
    book.end(4_002, A, 8)


def _given_to_a_dead_host(book: Book) -> None:
    row = {"name": "m:1", "until": NOON + 4_000}
    book.note(3_500, A, "host", None, row)
    _given_by_no_leader(book)


def _fired_by_no_leader(book: Book) -> None:
    book.elect(60_020, A, 3, until=400_000)
    book.fire(120_000, B, 2 * MINUTE_MS)


def _job_of_time(book: Book, *times: int) -> None:
    for number, time in enumerate(times, 20):
        book.job(60_011, B, number, own_key=f"s at {NOON + time}", unique_key=None, schedule="s", state="done")


def _under(book: Book, who: str, epoch: int) -> None:
    """A name that A holds by its second epoch."""
    for number in (1, 2):
        book.note(4_000, A, "term", None, {"name": "clerk", "owner": "m:1:uuid", "epoch": number})
    book.job(4_001, A, 8, own_key=None, unique_key=None, state="dead", tenant="under clerk 2")
    book.job(4_002, who, 9, own_key=None, unique_key=None, state="dead", tenant=f"under clerk {epoch}")


BAD: list[tuple[str, Callable[[Book], object]]] = [
    ("history: job 7", lambda book: book.note(4_000, B, "job", {**NEW, "state": "ready"}, NEW)),
    ("I1: k was acknowledged", _lost),
    ("I1: k was acknowledged", lambda book: book.job(4_000, B, own_key="other")),
    ("I2: job 7, token 3 ended 2 times", _ends_twice),
    ("I2: job 7 was done, and became dead", lambda book: book.job(4_000, B, state="dead")),
    ("I2: job 9 was done while it was None", lambda book: book.job(4_000, B, 9, own_key=None, state="done")),
    ("I2: the end of job 8, token 1,", lambda book: (second(book), book.end(4_500, B, 8, token=2))),
    ("I3: job 7: 4 errors", lambda book: book.job(4_000, B, errors=4)),
    ("I3: job 7: 1 errors, 4 crashes", lambda book: book.job(4_000, B, crashes=4)),
    ("I3: job 7 was claimed 3 times, its token is 4", lambda book: book.job(4_000, B, token=4)),
    ("I3: job 7 was begun 3 times", lambda book: book.job(4_000, B, errors=0)),
    ("I4: job 7 is done, its lease", lambda book: book.job(4_000, B, lease_until=NOON)),
    ("I4: job 8 was given while it was scheduled", lambda book: second(book, state="scheduled")),
    ("I4: job 8 has gone from x to y", lambda book: (second(book), book.job(4_500, B, 8, owner="y"))),
    ("I4: job 8 was taken from 2 by a.1, its lease had 1960 ms", _taken_from_the_living),
    ("I4: job 8 was taken from 2 by a.1", lambda book: (second(book), book.job(4_500, A, 8, lease_until=0))),
    ("I5: [7, 9] have the key k", lambda book: book.job(4_000, B, 9, unique_key=None, state="ready")),
    ("I5: [9, 10] have the key u", lambda book: [book.job(4_000, B, one, own_key=None) for one in (9, 10)]),
    ("I5: u was acknowledged as job 7", lambda book: book.job(4_000, B, unique_key="v")),
    ("I6: [8, 9] of few (1) at once, 9 given", _two_run),
    ("I6: [8, 9] of few (1) at once, 8 renewed", _comes_back_to_life),
    ("I7: the schedule s was fired for", lambda book: book.fire(60_020, B, -MINUTE_MS)),
    ("I7: the schedule s was fired for", lambda book: book.fire(60_020, B, 2 * MINUTE_MS)),
    ("I7: the schedule s was fired for", lambda book: book.fire(60_020, B, MINUTE_MS + 1)),
    ("I7: the schedule s was fired for []", lambda book: book.steps.pop()),
    (f"I7: s at {NOON + MINUTE_MS}: 2 jobs", lambda book: _job_of_time(book, MINUTE_MS, MINUTE_MS)),
    (f"I7: s at {NOON + 5}: a job, and was not", lambda book: _job_of_time(book, 5)),
    ("I8: epoch 3 of jobs was elected while 2 had 1 ms", lambda book: book.elect(59_999, A, 3)),
    ("I8: epoch 4 after 2", lambda book: book.elect(60_020, A, 4)),
    ("I8: a.1 wrote as a leader while m:2:uuid led", _given_by_no_leader),
    ("I8: a.1 was given job 8, and is no living host", _given_to_a_dead_host),
    ("I8: b.2 wrote as a leader while m:1:uuid led", _fired_by_no_leader),
    ("I8: b.2 wrote under epoch 1 of clerk, which has 2", lambda book: _under(book, B, 1)),
    ("I8: b.2 wrote under epoch 2 of clerk, which has 2", lambda book: _under(book, B, 2)),
    ("I10: not ended: {8: 'running'}", second),
]


@pytest.mark.parametrize(("found", "do"), BAD, ids=[f"{number} {found[:30]}" for number, (found, _) in enumerate(BAD)])
def test_what_must_not_be_is_found(found: str, do: Callable[[Book], object]) -> None:
    book = life()
    do(book)
    said = problems(book.steps, KNOWN)
    assert any(one.startswith(found) for one in said), said


def test_each_rule_finds_something() -> None:
    silent = {rule.__name__ for rule in RULES}
    for _, do in BAD:
        book = life()
        do(book)
        silent -= {rule.__name__ for rule in RULES if [*rule(book.steps, KNOWN)]}
    assert silent == set()
