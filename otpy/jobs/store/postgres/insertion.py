"""Many new jobs in one statement, also those with keys."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from otpy.jobs.model.new import Inserted
from otpy.jobs.store.postgres.rows import Columns
from otpy.jobs.store.sql import enqueue
from otpy.jobs.store.sql.enqueue import COLUMNS, PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from otpy.jobs.model.new import NewJob
    from otpy.jobs.store.postgres.counts import Counts
    from otpy.jobs.store.sql.base import Base

__all__ = ["insert_all"]

TYPES = {  # those that are no texts
    "args": "bytea",
    "run_at": "bigint",
    "priority": "bigint",
    "max_errors": "bigint",
    "max_crashes": "bigint",
    "timeout_ms": "bigint",
    "deadline_at": "bigint",
    "start_by": "bigint",
    "created_at": "bigint",
    "meta": "bytea",
}
NAMES = ", ".join(COLUMNS)
NEW = Columns(COLUMNS, tuple(TYPES.get(one, "text") for one in COLUMNS))
INSERT = "insert into otpy_job ({names}) select {names} from {new} as new order by place returning id"
KEYS = ("own_key", "unique_key", "unique_until")
KEYED = Columns((*NEW.names, *KEYS), (*NEW.types, *("text" for _ in KEYS)))
INSERT_KEYED = """
insert into otpy_job ({names}) select {names} from {new} as new order by place on conflict do nothing
returning id, {keys}
"""


def insert_all(db: Base, counts: Counts, news: Sequence[NewJob], now: int) -> list[Inserted]:
    """Enqueue in this order, as many in a statement as may stand in one."""
    if all(map(enqueue.is_plain, news)):
        return _insert_plain(db, counts, news, now) if news else []
    return enqueue.insert_all(db, counts, news, now, _fits, _insert_many)


def _fits(new: NewJob) -> bool:
    """Whether it may stand with others in one statement: not where somebody has to look back first."""
    is_known = new.schedule is not None or new.replay_of is not None
    return not is_known and (new.unique is None or new.unique.until != "period")


def _insert_many(db: Base, counts: Counts, news: Sequence[NewJob], now: int) -> list[Inserted]:
    """Enqueue these, which fit."""
    made: list[Inserted] = []
    for part in _parts(news):
        if all(map(enqueue.is_plain, part)):
            made += _insert_plain(db, counts, part, now)
        elif len(part) == 1:
            made.append(enqueue.insert(db, counts, part[0], now))
        else:
            made += _insert_keyed(db, counts, part, now)
    return made


def _parts(news: Sequence[NewJob]) -> Iterator[list[NewJob]]:
    """In their order, so that no key is twice in one part: what the second one meets must not depend on the others."""
    part: list[NewJob] = []
    seen: set[object] = set()
    for new in news:
        keys = {("own", new.key)} if new.key is not None else set()
        if new.unique is not None:
            keys.add((new.unique.until, new.unique.key))
        if keys & seen:
            yield part
            part, seen = [], set()
        part.append(new)
        seen |= keys
    yield part


def _insert_plain(db: Base, counts: Counts, news: Sequence[NewJob], now: int) -> list[Inserted]:
    """Those that nothing can stand in the way of."""
    rows = []
    for new in news:
        rows.append(_row(new, now))
        enqueue.count(counts, new, enqueue.state_of(new, now))
    table, values = NEW.of(rows)
    made = counts.write_beside(db, INSERT.format(names=NAMES, new=table), values)
    return [Inserted(one) for one in sorted(made)]


def _insert_keyed(db: Base, counts: Counts, news: Sequence[NewJob], now: int) -> list[Inserted]:
    """Those of which no two have a key in common; then, in their order, what meets one that is there already."""
    keys = [(new.key, new.unique and new.unique.key, new.unique and new.unique.until) for new in news]
    table, values = KEYED.of([(*_row(new, now), *own) for new, own in zip(news, keys, strict=True)])
    text = INSERT_KEYED.format(names=", ".join(KEYED.names), new=table, keys=", ".join(KEYS))
    found: dict[tuple[Any, ...], list[int]] = {}
    for one, *own in sorted(db.execute(text, values).fetchall(), key=itemgetter(0), reverse=True):
        found.setdefault(tuple(own), []).append(one)
    made = []
    for new, own in zip(news, keys, strict=True):
        ids = found.get(own)
        if ids:
            made.append(Inserted(ids.pop()))
            enqueue.count(counts, new, enqueue.state_of(new, now))
        else:
            made.append(enqueue.taken(db, counts, new, now))
    return made


def _row(new: NewJob, now: int) -> tuple[Any, ...]:
    return (*new[:PLAIN], enqueue.state_of(new, now), now)
