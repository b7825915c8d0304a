"""What people have done again: jobs that wait begin now, and what was given up is enqueued as a job of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from otpy.jobs.model.new import NewJob, Replayed, Unique
from otpy.jobs.store.sql.enqueue import insert
from otpy.jobs.store.sql.looks import is_id
from otpy.jobs.store.sql.rows import COLUMNS, job_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otpy.jobs.model.job import Job
    from otpy.jobs.model.new import Held
    from otpy.jobs.store.sql.base import Base
    from otpy.jobs.store.sql.tally import Tally

__all__ = ["How", "hasten", "replay"]

LET_GO = """
update otpy_job set state = 'replayed', own_key = null,
    unique_key = case when unique_until in ('forever', 'period') then null else unique_key end
where id = ?
"""
"""Its keys are those of the new one now; without this the old row would be in its way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How dead jobs are run again."""

    is_forced: bool
    """Also those that were replayed before."""
    gap_ms: int
    """From the beginning of one to that of the next."""
    instead: NewJob | None = None
    """What has the arguments; None leaves them as they are."""


def hasten(db: Base, tally: Tally, ids: Sequence[int], now: int) -> set[str]:
    """Have those that wait for their time begin now; returns their queues."""
    queues = set()
    for one in ids:
        row = db.execute(
            "select queue from otpy_job where id = ? and state = 'scheduled' /* for update */", (one,)
        ).fetchone()
        if row is not None:
            db.execute(
                "update otpy_job set state = 'ready', start_by = start_by - run_at + ?, run_at = ? where id = ?",
                (now, now, one),
            )
            tally.moves(row[0], "scheduled", "ready", 1)
            queues.add(row[0])
    return queues


def replay(db: Base, tally: Tally, ids: Sequence[int], how: How, now: int) -> list[Replayed]:
    """Enqueue dead jobs again, each beginning so long after the one before."""
    done: list[Replayed] = []
    for one in ids:
        started = sum(each.how == "new" for each in done)
        done.append(_replay(db, tally, one, how, run_at=now + started * how.gap_ms, now=now))
    return done


def _replay(db: Base, tally: Tally, id: int, how: How, *, run_at: int, now: int) -> Replayed:
    text = f"select {COLUMNS}, unique_until from otpy_job where id = ? /* for update */"  # noqa: S608 - our own text
    row = db.execute(text, (id,)).fetchone() if is_id(id) else None
    if row is None:
        return Replayed(id, None, "", "missing")
    job, until = job_of(row[:-1]), row[-1]
    if job.state not in (("dead", "replayed") if how.is_forced else ("dead",)):
        return Replayed(id, None, job.queue, "replayed" if job.state == "replayed" else "not_dead")
    again = _again(job, until, run_at, how.instead)
    db.execute("savepoint replay")
    db.execute(LET_GO, (id,))
    made = insert(db, tally, again, now)
    if made.how != "new":
        db.execute("rollback to replay")
        db.execute("release replay")
        return Replayed(id, made.id, job.queue, "taken")
    db.execute("release replay")
    tally.move(job, "replayed")
    # What it has done once is done: a replay is the same work.
    db.execute(
        "insert into otpy_once (job, name, token, result)"
        " select ?, name, token, result from otpy_once where job = ? and result is not null",
        (made.id, id),
    )
    return Replayed(id, made.id, job.queue, "new")


def _again(job: Job, until: Held, run_at: int, instead: NewJob | None) -> NewJob:
    """The same work with fresh attempts, and as much time as the first one had."""
    args, tenant = (job.args, job.tenant) if instead is None else (instead.args, instead.tenant)
    unique = None if job.unique_key is None else Unique(key=job.unique_key, until=until)
    if instead is not None:
        unique = instead.unique
    return NewJob(
        kind=job.kind,
        queue=job.queue,
        args=args,
        run_at=run_at,
        priority=job.priority,
        tenant=tenant,
        needs=job.needs,
        unique=unique and replace(unique, on_conflict="raise"),
        key=job.key,
        max_errors=job.max_errors,
        max_crashes=job.max_crashes,
        timeout_ms=job.timeout_ms,
        deadline_at=None if job.deadline_at is None else run_at + job.deadline_at - job.created_at,
        start_by=None if job.start_by is None else run_at + job.start_by - job.run_at,
        meta=job.effect_key.encode(),
        version=job.version,
        replay_of=job.id,
    )
