"""Claims: who gets which job, for how long, and how it ended. The token alone decides whose a job is."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from otpy.jobs.store.sqlite.rows import COLUMNS, job_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otpy.jobs.model import Ask, Attempt, Job, Settled
    from otpy.jobs.store.sqlite.tally import Tally

__all__ = ["cancelled", "claim", "note", "renew", "settle"]

TAKE = f"""
update job set state = 'running', attempt = attempt + 1, token = token + 1, owner = ?, lease_until = ?
where id = ? returning {COLUMNS}
"""  # noqa: S608 - our own text

KEPT = 20
"""Failed attempts of one job that are kept."""

CRASHES = ("crash", "lost")
"""Failures that took the agent or the program along."""


def claim(db: sqlite3.Connection, tally: Tally, ask: Ask, now: int) -> list[Job]:
    """Give jobs to the owners of one wish, one each, the first due first."""
    where, values = _wanted(ask, now)
    ids = db.execute(
        f"select id from job where {where} order by priority, run_at, id limit ?",  # noqa: S608 - our own text
        (*values, len(ask.owners)),
    ).fetchall()
    jobs = [_take(db, job, owner, now + ask.lease_ms) for (job,), owner in zip(ids, ask.owners, strict=False)]
    tally.moves(ask.queue, "ready", "running", len(jobs))
    return jobs


def _wanted(ask: Ask, now: int) -> tuple[str, list[Any]]:
    where = ["state = 'ready' and queue = ? and run_at <= ? and (deadline_at is null or deadline_at > ?)"]
    values: list[Any] = [ask.queue, now, now]
    for column, word, given in (
        ("needs", "in", ask.needs),
        ("tenant", "not in", ask.not_tenants),
        ("kind", "not in", ask.not_kinds),
        ("kind", "in", ask.kinds),
        ("tenant", "in", None if ask.tenant is None else (ask.tenant,)),
    ):
        if given or (given is not None and word == "in"):
            where.append(f"{column} {word} ({', '.join('?' * len(given))})")
            values.extend(given)
    return " and ".join(where), values


def _take(db: sqlite3.Connection, id: int, owner: str, until: int) -> Job:
    return job_of(db.execute(TAKE, (owner, until, id)).fetchone())


def settle(db: sqlite3.Connection, tally: Tally, outcome: Settled, now: int) -> bool:
    """Write down how one attempt went."""
    try:
        row = _end_attempt(db, outcome, now)
    except sqlite3.IntegrityError:  # unique until started, and a twin waits: the twin does it
        row = _end_attempt(db, outcome, now, merge=True)
    if row is None:
        return False
    queue, state = row
    tally.moves(queue, "running", state, 1)
    if outcome.attempt is not None:
        _remember(db, outcome.id, outcome.attempt)
    return True


def _end_attempt(db: sqlite3.Connection, outcome: Settled, now: int, *, merge: bool = False) -> tuple[str, str] | None:
    state = "cancelled" if merge else outcome.state
    failure = outcome.attempt.failure if outcome.attempt is not None else None
    row: tuple[str, str] | None = db.execute(
        """
        update job set state = iif(is_cancelled, 'cancelled', ?), lease_until = null, owner = '',
            run_at = coalesce(?, run_at), result = iif(is_cancelled, null, ?), reason = iif(is_cancelled, reason, ?),
            finished_at = iif(is_cancelled, ?, ?), errors = errors + ?,
            crashes = crashes + ?, attempt = attempt - ?, releases = releases + ?
        where id = ? and token = ? and state = 'running' returning queue, state
        """,
        (
            state,
            outcome.run_at,
            outcome.result,
            "its twin does it" if merge else outcome.reason,
            now,
            None if state in ("scheduled", "ready") else now,
            failure is not None and failure not in CRASHES,
            failure in CRASHES,
            outcome.is_free,
            outcome.is_free,
            outcome.id,
            outcome.token,
        ),
    ).fetchone()
    return row


def _remember(db: sqlite3.Connection, id: int, attempt: Attempt) -> None:
    db.execute(
        "insert or replace into failure (job, number, at, failure, text) values (?, ?, ?, ?, ?)",
        (id, attempt.number, attempt.at, attempt.failure, attempt.text),
    )
    db.execute(
        "delete from failure where job = ?1 and (number, at) not in"
        " (select number, at from failure where job = ?1 order by at desc, number desc limit ?2)",
        (id, KEPT),
    )


def renew(db: sqlite3.Connection, claims: Sequence[tuple[int, int]], until: int) -> list[tuple[int, int]]:
    """Extend leases; returns those that are no longer held."""
    text = "update job set lease_until = ? where id = ? and token = ? and state = 'running'"
    return [claim for claim in claims if not db.execute(text, (until, *claim)).rowcount]


def cancelled(db: sqlite3.Connection) -> list[tuple[int, int]]:
    """Those that run and that somebody has cancelled."""
    return db.execute("select id, token from job where state = 'running' and is_cancelled").fetchall()


def note(db: sqlite3.Connection, id: int, token: int, progress: bytes | None, checkpoint: bytes | None) -> bool:
    """Keep how far a job is."""
    done = db.execute(
        "update job set progress = coalesce(?, progress), checkpoint = coalesce(?, checkpoint)"
        " where id = ? and token = ? and state = 'running'",
        (progress, checkpoint, id, token),
    )
    return bool(done.rowcount)
