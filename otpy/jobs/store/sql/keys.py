"""Unique keys: who has one, and what a second job with it does to the first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from otpy.jobs.model.new import Inserted

if TYPE_CHECKING:
    from otpy.jobs.model.job import State
    from otpy.jobs.model.new import NewJob, Replaced, Unique
    from otpy.jobs.store.sql.base import Base
    from otpy.jobs.store.sql.tally import Tally

__all__ = ["Holder", "holder", "meet", "note_times"]

TAKEN = {
    "started": "unique_until = 'started' and state in ('scheduled', 'ready')",
    "finished": "unique_until = 'finished' and state in ('scheduled', 'ready', 'running')",
    "forever": "unique_until = 'forever'",
    "period": "unique_until = 'period' and created_at > ?",
}
"""By whom a unique key is taken, as the indexes say it. A period has none that is unique, for time is no part of a row:
who enqueues looks back, in the transaction that writes."""

ALONE = "select :key /* from (select pg_advisory_xact_lock(hashtext(:key))) as alone */"
"""Two who look back at once would both find nothing."""


class Holder(NamedTuple):
    """The job that has a key."""

    id: int
    queue: str
    state: State
    run_at: int
    created_at: int


def holder(db: Base, unique: Unique, now: int) -> Holder | None:
    """Who has it."""
    values: tuple[Any, ...] = (unique.key,)
    if unique.until == "period":
        db.execute(ALONE, {"key": unique.key})
        values += (now - unique.period_ms,)
    row = db.execute(
        "select id, queue, state, run_at, created_at from otpy_job"  # noqa: S608 - our own text
        f" where unique_key = ? and {TAKEN[unique.until]} order by id desc limit 1 /* for update */",
        values,
    ).fetchone()
    return None if row is None else Holder(*row)


def meet(db: Base, tally: Tally, new: NewJob, unique: Unique, now: int) -> Inserted | None:
    """One has it: keep that, change it while it waits, or refuse the new one. None: nobody has it any more."""
    held = holder(db, unique, now)
    if held is None:  # another program has just ended it
        return None
    if unique.on_conflict == "raise":
        return Inserted(held.id, "refused")
    if unique.on_conflict == "keep" or held.state not in ("scheduled", "ready"):
        return Inserted(held.id, "kept")
    what: tuple[Replaced, ...] = unique.replaces
    if unique.on_conflict == "debounce":
        new, what = _pushed(new, unique, held), (*what, "time")
    if "time" not in what:
        new = new._replace(run_at=held.run_at)
    after: State = "ready" if new.run_at <= now else "scheduled"
    columns = {name: value for one in what for name, value in _columns(new, one).items()} | {"state": after}
    db.execute(
        f"update otpy_job set {', '.join(f'{name} = ?' for name in columns)} where id = ?",  # noqa: S608 - our own names
        (*columns.values(), held.id),
    )
    tally.moves(held.queue, held.state, after, 1)
    note_times(tally, new, after)
    return Inserted(held.id, "replaced")


def _pushed(new: NewJob, unique: Unique, held: Holder) -> NewJob:
    """Later, but not for ever; never sooner than it was, which may be the pause before a retry."""
    at = max(held.run_at, min(new.run_at, held.created_at + unique.max_wait_ms))
    return new._replace(run_at=at, start_by=None if new.start_by is None else new.start_by - new.run_at + at)


def _columns(new: NewJob, what: Replaced) -> dict[str, object]:
    """What of the new one the old one gets."""
    match what:
        case "time":
            return {"run_at": new.run_at, "start_by": new.start_by}
        case "deadline":
            return {"deadline_at": new.deadline_at}
        case "args":
            return {"args": new.args, "version": new.version}  # of the code that knows them
    return {what: getattr(new, what)}


def note_times(tally: Tally, new: NewJob, state: State) -> None:
    """When the janitor has something to do with it."""
    if state == "scheduled":
        tally.comes(new.run_at)
    tally.comes(new.deadline_at)
    tally.comes(new.start_by)
