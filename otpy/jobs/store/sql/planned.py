"""Schedules in the store, and the one transaction that enqueues a job for one of their times."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any

from otpy.jobs.args import pack, unpack
from otpy.jobs.errors import ArgumentsError
from otpy.jobs.model.new import NewJob, Unique
from otpy.jobs.model.schedule import Schedule
from otpy.jobs.store.sql.enqueue import insert
from otpy.jobs.store.sql.rows import COLUMNS, job_of
from otpy.jobs.store.sql.upkeep import cancel

if TYPE_CHECKING:
    from otpy.jobs.model.job import Job
    from otpy.jobs.store.sql.base import Base
    from otpy.jobs.store.sql.tally import Tally

__all__ = ["fire", "pause", "plan", "schedules", "unplan"]

FIELDS = [field.name for field in fields(Schedule)]
NEW = f"insert into otpy_schedule ({', '.join(FIELDS)}) values ({', '.join('?' * len(FIELDS))}) on conflict (id) do "  # noqa: S608
KEEP = f"{NEW} update set {', '.join(f'{name} = excluded.{name}' for name in FIELDS[1:])}"
TIMES = ("expr", "tz")
"""What decides when: with another of these a schedule is another one."""


def plan(db: Base, schedule: Schedule, now: int) -> None:
    """Keep one; its past is that of the row which is there, unless its times have changed.

    It is written before it is looked for: of two programs that come at once the second waits, and finds the first's.
    """
    db.execute(f"{NEW} nothing", _values(replace(schedule, fired_at=now, is_paused=False)))
    old = get(db, schedule.id)
    is_same = old is not None and all(getattr(old, name) == getattr(schedule, name) for name in TIMES)
    fired_at = old.fired_at if old is not None and is_same else now
    kept = replace(schedule, fired_at=fired_at, is_paused=old is not None and old.is_paused)
    db.execute(KEEP, _values(kept))


def get(db: Base, id: str) -> Schedule | None:
    """One."""
    text = f"select {', '.join(FIELDS)} from otpy_schedule where id = ? /* for update */"  # noqa: S608 - our own text
    row = db.execute(text, (id,)).fetchone()
    return None if row is None else _schedule_of(row)


def schedules(db: Base) -> list[Schedule]:
    """All that can be read."""
    rows = db.execute(f"select {', '.join(FIELDS)} from otpy_schedule order by id")  # noqa: S608 - our own text
    return [found for row in rows if (found := _schedule_of(row)) is not None]


def fire(db: Base, tally: Tally, id: str, *, at: int, run_at: int, now: int) -> list[Job]:
    """Enqueue for one time, and note it; its key makes it once, whoever leads. Returns what is to be cancelled."""
    schedule = get(db, id)
    if schedule is None or schedule.is_paused or schedule.fired_at >= at:
        return []
    db.execute("update otpy_schedule set fired_at = ? where id = ?", (at, id))
    text = f"select {COLUMNS} from otpy_job where schedule = ? and state in ('scheduled', 'ready', 'running')"  # noqa: S608
    living = [job_of(row) for row in db.execute(text, (id,))]
    stopped: list[Job] = []
    match schedule.overlap:
        case "skip" if living:
            return []
        case "queue_one" if any(job.state != "running" for job in living):
            return []
        case "cancel_old":
            stopped = cancel(db, tally, [job.id for job in living], f"the next one of {id} has come", now)
    insert(db, tally, _due(schedule, at, run_at, now), now)
    return stopped


def _due(schedule: Schedule, at: int, run_at: int, now: int) -> NewJob:
    """The job for one time: its delay and its deadline are written down as if it were enqueued at 0."""
    job = schedule.job
    deadline_at = None if job.deadline_at is None else max(run_at, now) + job.deadline_at
    start_by = None if job.start_by is None else max(run_at, now) + job.start_by
    key, run_at = f"{schedule.id} at {at}", run_at + job.run_at
    return job._replace(key=key, run_at=run_at, deadline_at=deadline_at, start_by=start_by, schedule=schedule.id)


def unplan(db: Base, id: str) -> bool:
    """Forget one."""
    return bool(db.execute("delete from otpy_schedule where id = ?", (id,)).rowcount)


def pause(db: Base, id: str, *, is_paused: bool, now: int) -> bool:
    """Fire it no more, or again from now on."""
    done = db.execute(
        "update otpy_schedule set is_paused = :paused, fired_at = case when fired_at < :now then :now else fired_at end"
        " where id = :id",
        {"paused": int(is_paused), "now": now, "id": id},
    )
    return bool(done.rowcount)


def _values(schedule: Schedule) -> list[object]:
    return [_value(schedule, name) for name in FIELDS]


def _value(schedule: Schedule, name: str) -> object:
    value = getattr(schedule, name)
    return _packed(value) if isinstance(value, NewJob) else int(value) if isinstance(value, bool) else value


def _packed(job: NewJob) -> bytes:
    return pack({**job._asdict(), "unique": job.unique and asdict(job.unique)})


def _unpacked(data: bytes) -> NewJob:
    job = NewJob(**unpack(data))
    return job if job.unique is None else job._replace(unique=Unique(**unpack(data)["unique"]))


def _schedule_of(row: tuple[Any, ...]) -> Schedule | None:
    """None for one whose job cannot be read here: a newer otpy has written it, and that must not stop the others."""
    facts = dict(zip(FIELDS, row, strict=True))
    try:
        facts["job"] = _unpacked(facts["job"])
    except (ArgumentsError, TypeError):
        return None
    facts["is_paused"] = bool(facts["is_paused"])
    return Schedule(**facts)
