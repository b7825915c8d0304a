"""Enqueuing: new rows, and what happens when one with the same key is there."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from otpy.jobs.model.new import Inserted, NewJob
from otpy.jobs.store.sql.keys import holder, meet, note_times

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from otpy.jobs.model.job import State
    from otpy.jobs.store.sql.base import Base
    from otpy.jobs.store.sql.tally import Tally

    T = TypeVar("T", bound=Tally)
    Many: TypeAlias = Callable[[Base, T, Sequence[NewJob], int], list[Inserted]]

__all__ = ["COLUMNS", "PLAIN", "count", "insert", "insert_all", "is_plain", "state_of", "taken"]

PLAIN = NewJob._fields.index("unique")
"""How many of its fields are columns as they stand, and all that a job has which nothing can stand in the way of."""

COLUMNS = (*NewJob._fields[:PLAIN], "state", "created_at")
KEYS = ("unique_key", "unique_until", "own_key", "replay_of", "schedule")


def _insert(columns: Sequence[str], rows: int = 1) -> str:
    row = f"({', '.join('?' * len(columns))})"
    return f"insert into otpy_job ({', '.join(columns)}) values {', '.join([row] * rows)}"  # noqa: S608 - our own names


INSERT = f"{_insert((*COLUMNS, *KEYS))} on conflict do nothing /* returning id */"
PLAIN_INSERTS = {number: _insert(COLUMNS, number) for number in (32, 16, 8, 4, 2, 1)}
"""Statements for so many rows at once that nothing can stand in the way of: two thirds of the price of one by one."""


def is_plain(new: NewJob) -> bool:
    """Whether nothing can stand in its way."""
    return new.key is None and new.unique is None and new.schedule is None and new.replay_of is None


def state_of(new: NewJob, now: int) -> State:
    """In which it begins."""
    return "ready" if new.run_at <= now else "scheduled"


def count(tally: Tally, new: NewJob, state: State) -> None:
    """It is there, and its times may be the next ones."""
    tally.add(new.queue, state)
    tally.made.append(new)
    note_times(tally, new, state)


def _insert_plain(db: Base, tally: Tally, news: Sequence[NewJob], now: int) -> list[Inserted]:
    """Enqueue those that nothing can stand in the way of, where one transaction writes at a time."""
    made: list[Inserted] = []
    for number, text in PLAIN_INSERTS.items():
        while len(news) - len(made) >= number:
            values: list[Any] = []
            for new in news[len(made) : len(made) + number]:
                state = state_of(new, now)
                values += (*new[:PLAIN], state, now)
                count(tally, new, state)
            last = db.execute(text, values).lastrowid
            assert last is not None  # noqa: S101 - it has just inserted some
            made += map(Inserted, range(last - number + 1, last + 1))  # ids grow one by one
    return made


def insert_all(
    db: Base,
    tally: T,
    news: Sequence[NewJob],
    now: int,
    fits: Callable[[NewJob], bool] = is_plain,
    many: Many[T] = _insert_plain,
) -> list[Inserted]:
    """Enqueue in this order: by `many`, as many at a time as there are that fit it, and one by one what does not."""
    if len(news) == 1:
        return [insert(db, tally, news[0], now)]
    made: list[Inserted] = []
    for is_fit, run in groupby(news, fits):
        if is_fit:
            made += many(db, tally, list(run), now)
        else:
            made += [insert(db, tally, one, now) for one in run]
    return made


def insert(db: Base, tally: Tally, new: NewJob, now: int) -> Inserted:
    """Enqueue one job, unless its key is taken: the index decides, for another program may enqueue at the same time."""
    state, unique = state_of(new, now), new.unique
    if unique is not None and unique.until == "period" and holder(db, unique, now) is not None:
        return taken(db, tally, new, now)
    keys = (unique and unique.key, unique and unique.until, new.key, new.replay_of, new.schedule)
    made = db.execute(INSERT, (*new[:PLAIN], state, now, *keys))
    if not made.rowcount:
        return taken(db, tally, new, now)
    count(tally, new, state)
    assert made.lastrowid is not None  # noqa: S101 - it has just inserted one
    return Inserted(made.lastrowid)


def taken(db: Base, tally: Tally, new: NewJob, now: int) -> Inserted:
    """What becomes of one that was not inserted, for another one has its key."""
    row = db.execute("select id, kind, args from otpy_job where own_key = ?", (new.key,)).fetchone()
    if row is not None:
        return Inserted(row[0], "kept" if row[1:] == (new.kind, new.args) else "differs")
    met = new.unique and meet(db, tally, new, new.unique, now)
    return met or insert(db, tally, new, now)  # who was in the way has just gone
