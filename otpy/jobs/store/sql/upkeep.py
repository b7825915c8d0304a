"""What the leader does besides claims: due jobs, overdue ones, those of dead programs, old ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.core.backoff import Backoff
from otpy.jobs.store.sql.claims import settle
from otpy.jobs.store.sql.rows import COLUMNS, job_of
from otpy.jobs.verdict import TOO_LATE, after_loss

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otpy.jobs.model.job import Job
    from otpy.jobs.store.sql.base import Base
    from otpy.jobs.store.sql.tally import Tally

__all__ = ["cancel", "due", "expire", "promote", "prune", "rescue", "shorten"]

PAUSES = Backoff(first=1.0, most=60.0)
"""Before a job that has taken its program along goes on: its kind, which may say otherwise, need not be known here."""


def promote(db: Base, tally: Tally, limit: int, now: int) -> set[str]:
    """Make those ready whose time has come. No unique key is in the way: they hold it in both states."""
    rows = db.execute(
        "with due as (select id from otpy_job where state = 'scheduled' and run_at <= ? order by run_at limit ?"
        " /* for update skip locked */)"
        " update otpy_job set state = 'ready' where id in (select id from due) returning queue",
        (now, limit),
    ).fetchall()
    for (queue,) in rows:
        tally.moves(queue, "scheduled", "ready", 1)
    return {queue for (queue,) in rows}


def expire(db: Base, tally: Tally, limit: int, now: int) -> list[int]:
    """Give up those that wait and whose time is over, to end or to be begun; returns their ids."""
    return [
        one
        for column, reason in (("deadline_at", "deadline"), ("start_by", TOO_LATE))
        for one in _expire(db, tally, column, reason, limit, now)
    ]


def _expire(db: Base, tally: Tally, column: str, reason: str, limit: int, now: int) -> list[int]:
    rows = db.execute(
        f"select id, queue, state from otpy_job where {column} <= ? and state in ('scheduled', 'ready') limit ?"  # noqa: S608
        " /* for update skip locked */",
        (now, limit),
    ).fetchall()
    for job, queue, state in rows:
        db.execute("update otpy_job set state = 'dead', reason = ?, finished_at = ? where id = ?", (reason, now, job))
        tally.moves(queue, state, "dead", 1)
    return [row[0] for row in rows]


def due(db: Base) -> int | None:
    """The next time at which `promote` or `expire` has something to do; three looks at the ends of indexes."""
    row: tuple[int | None] = db.execute(
        """
        select min(at) from (
            select min(run_at) as at from otpy_job where state = 'scheduled' union all
            select min(deadline_at) from otpy_job where deadline_at is not null and state in ('scheduled', 'ready')
            union all
            select min(start_by) from otpy_job where start_by is not null and state in ('scheduled', 'ready')
        ) as times
        """
    ).fetchone()
    return row[0]


def rescue(db: Base, tally: Tally, *, grace_ms: int, limit: int, now: int) -> list[Job]:
    """Take back jobs whose program is gone. Needs no handler, and asks nobody."""
    rows = db.execute(
        f"select {COLUMNS} from otpy_job where state = 'running' and lease_until < ? order by lease_until limit ?"  # noqa: S608
        " /* for update skip locked */",
        (now - grace_ms, limit),
    ).fetchall()
    jobs = [job_of(row) for row in rows]
    for job in jobs:
        settle(db, tally, after_loss(job, PAUSES, now), now)
    return jobs


def shorten(db: Base, lease_ms: int, now: int) -> None:
    """Let no lease last much longer: the clock was set back, and what dead programs have left would wait for it.

    Others trust what they were given: they may have longer leases than who asks, which is how long they are there for,
    and have renewed them since this transaction began. So what is cut short lasts for more than two of the longest.
    """
    (longest,) = db.execute("select max(until - beat_at) from otpy_host").fetchone()
    longest = max(lease_ms, longest or 0)
    text = "update otpy_job set lease_until = ? where state = 'running' and lease_until > ?"
    db.execute(text, (now + longest, now + 2 * longest))


def cancel(db: Base, tally: Tally, ids: Sequence[int], reason: str, now: int) -> list[Job]:
    """Cancel those that wait; mark and return those that run."""
    running = []
    for one in ids:
        row = db.execute(f"select {COLUMNS} from otpy_job where id = ? /* for update */", (one,)).fetchone()  # noqa: S608
        job = None if row is None else job_of(row)
        if job is not None and job.state == "running":
            db.execute("update otpy_job set is_cancelled = 1, reason = ? where id = ?", (reason, one))
            running.append(job)
        elif job is not None and job.state in ("scheduled", "ready"):
            db.execute(
                "update otpy_job set state = 'cancelled', reason = ?, finished_at = ? where id = ?", (reason, now, one)
            )
            tally.move(job, "cancelled")
    return running


def prune(db: Base, tally: Tally, *, before: int, limit: int) -> int:
    """Forget jobs that ended before; dead ones stay until somebody has looked at them. Returns how many."""
    rows = db.execute(
        "with old as (select id from otpy_job where finished_at < ? and state <> 'dead' order by finished_at limit ?"
        " /* for update skip locked */)"
        " delete from otpy_job where id in (select id from old) returning id, queue, state",
        (before, limit),
    ).fetchall()
    for table in ("otpy_failure", "otpy_digest", "otpy_once"):
        db.executemany(f"delete from {table} where job = ?", [row[:1] for row in rows])  # noqa: S608 - our own text
    tally.drop((queue, state) for _, queue, state in rows)
    return len(rows)
