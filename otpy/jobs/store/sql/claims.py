"""Claims: who gets which job, for how long, and how it ended. The token alone decides whose a job is."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from otpy.jobs.store.sql.rows import COLUMNS, claimed, marks, place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otpy.jobs.model.claim import Ask, Settled
    from otpy.jobs.model.job import Attempt, Job, State
    from otpy.jobs.store.sql.base import Base
    from otpy.jobs.store.sql.tally import Tally

__all__ = ["cancelled", "claim", "finish", "give", "holds", "is_done", "note", "remember", "renew", "settle", "wanted"]

TAKE = """
update otpy_job set state = 'running', attempt = attempt + 1, token = token + 1, owner = ?, lease_until = ?
where id in ({marks})
"""
AS_CLAIMED = "where id = ? and token = ? and state = 'running'"
RUNNING = "select id, token, queue from otpy_job where state = 'running' and is_cancelled = 0 and id in ({marks})"
DONE = """
update otpy_job set state = 'done', lease_until = null, owner = '', result = ?, finished_at = ? where id in ({marks})
"""
"""What most attempts lead to, and no more. One statement for many rows: each has its price, however little it does, and
lets go of the interpreter, for which it then has to wait."""
PART = 500
"""Rows of one statement."""
ENDED = f"""
update otpy_job set state = ?, lease_until = null, owner = '', result = ?, finished_at = ?,
    run_at = coalesce(?, run_at), reason = ?, errors = errors + ?, crashes = crashes + ?,
    attempt = attempt - ?, releases = releases + ?, start_by = ?
{AS_CLAIMED}
"""  # noqa: S608 - our own text
AGAIN = f"""
{ENDED} and not (coalesce(unique_until, '') = 'started' and exists (
    select 1 from otpy_job as twin where twin.unique_until = 'started' and twin.unique_key = otpy_job.unique_key
        and twin.state in ('scheduled', 'ready')))
"""  # noqa: S608 - our own text
"""For another attempt, unless one with the same key waits already."""
# None of these says `returning`: that doubles what a statement costs.

KEPT = 20
"""Failed attempts of one job that are kept one by one."""
DIGEST = """
insert into otpy_digest (job, failure, number, first_at, last_at) values (?, ?, 1, ?, ?)
on conflict (job, failure) do update set number = otpy_digest.number + 1,
    first_at = case when excluded.first_at < otpy_digest.first_at then excluded.first_at else otpy_digest.first_at end,
    last_at = case when excluded.last_at > otpy_digest.last_at then excluded.last_at else otpy_digest.last_at end
"""
"""What is left of one that is not."""


def claim(db: Base, tally: Tally, ask: Ask, now: int) -> list[Job]:
    """Give jobs to the owners of one wish, one each, the first due first."""
    rows: list[tuple[Any, ...]] = []
    for version in ask.versions:
        where, values = wanted(ask, version, now)
        text = f"select {COLUMNS} from otpy_job where {where} order by priority, run_at, id limit ?"  # noqa: S608 - our own
        rows += db.execute(text, (*values, len(ask.owners))).fetchall()
    if len(ask.versions) > 1:
        rows.sort(key=place)
    return give(db, tally, ask, rows, now)


def give(db: Base, tally: Tally, ask: Ask, rows: Sequence[tuple[Any, ...]], now: int) -> list[Job]:
    """Give these rows of jobs to the owners of a wish."""
    until = now + ask.lease_ms
    jobs = [claimed(row, owner, until) for row, owner in zip(rows, ask.owners, strict=False)]
    owned: dict[str, list[int]] = {}
    for job in jobs:
        owned.setdefault(job.owner, []).append(job.id)
    for owner, ids in owned.items():
        db.execute(TAKE.format(marks=marks(ids)), (owner, until, *ids))
    tally.moves(ask.queue, "ready", "running", len(jobs))
    return jobs


def wanted(ask: Ask, version: str, now: int) -> tuple[str, list[Any]]:
    """Which jobs of one version a wish is for, as SQL and its values; an index has those in their order."""
    # Not `run_at <= now`: what is ready was due, and need not wait again when the clock is set back.
    where = [
        "state = 'ready' and queue = ? and version = ?",
        "(deadline_at is null or deadline_at > ?) and (start_by is null or start_by > ?)",
    ]
    values: list[Any] = [ask.queue, version, now, now]
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
    if ask.tenant:
        where.append("tenant <> ''")  # written out: without it SQLite does not know that the index of tenants will do
    return " and ".join(where), values


def finish(db: Base, tally: Tally, outcomes: Sequence[Settled], now: int) -> set[tuple[int, int]]:
    """Write down of which attempts all went well; returns (id, token) of those: the others are for `settle`."""
    well = {one[:2]: one for one in reversed(outcomes) if one.state == "done" and one.attempt is None}
    finished: set[tuple[int, int]] = set()
    for start in range(0, len(well), PART):
        ids = [one for one, _ in islice(well, start, start + PART)]
        found = [row for row in db.execute(RUNNING.format(marks=marks(ids)), ids) if row[:2] in well]
        results: dict[bytes | None, list[int]] = {}
        for job, token, queue in found:
            results.setdefault(well[job, token].result, []).append(job)
            tally.moves(queue, "running", "done", 1)
        for result, those in results.items():
            db.execute(DONE.format(marks=marks(those)), (result, now, *those))
        finished.update(row[:2] for row in found)
    return finished


def settle(db: Base, tally: Tally, outcome: Settled, now: int) -> bool:
    """Write down how one attempt went."""
    text = f"select queue, is_cancelled, reason from otpy_job {AS_CLAIMED} /* for update */"  # noqa: S608 - our own text
    row = db.execute(text, outcome[:2]).fetchone()
    if row is None:
        return False
    queue, is_cancelled, why = row
    ended = outcome._replace(state="cancelled", result=None, reason=why) if is_cancelled else outcome
    state = _end_attempt(db, ended, now)
    tally.moves(queue, "running", state, 1)
    if state == "scheduled":
        tally.comes(ended.run_at)
    tally.comes(ended.start_by)
    remember(db, outcome.id, outcome.attempt)
    return True


def _end_attempt(db: Base, outcome: Settled, now: int) -> State:
    """Write it; the state it led to."""
    error, crash, free = outcome.counts
    words = (
        outcome.state,
        outcome.result,
        None if outcome.goes_on else now,
        outcome.run_at,
        outcome.reason,
        error,
        crash,
        free,
        free,
        outcome.start_by,
        outcome.id,
        outcome.token,
    )
    if not outcome.goes_on:
        db.execute(ENDED, words)
    elif not db.execute(AGAIN, words).rowcount:
        # Unique until started, and a twin waits: the twin does it.
        return _end_attempt(db, outcome._replace(state="cancelled", reason="its twin does it"), now)
    return outcome.state


def remember(db: Base, id: int, attempt: Attempt | None) -> None:
    """Keep a failure, of a job's last ones."""
    if attempt is None:
        return
    db.execute(
        "insert into otpy_failure (job, number, at, failure, text, trace) values (?, ?, ?, ?, ?, ?) on conflict"
        " (job, number, at) do update set failure = excluded.failure, text = excluded.text, trace = excluded.trace",
        (id, attempt.number, attempt.at, attempt.failure, attempt.text, attempt.trace),
    )
    if attempt.number <= KEPT:
        return
    old = db.execute(
        "select failure, number, at from otpy_failure where job = ? order by at desc, number desc limit ? offset ?",
        (id, 2**63 - 1, KEPT),
    ).fetchall()
    db.executemany(DIGEST, [(id, failure, at, at) for failure, _, at in old])
    db.executemany(
        "delete from otpy_failure where job = ? and number = ? and at = ?", [(id, number, at) for _, number, at in old]
    )


def renew(db: Base, claims: Sequence[tuple[int, int]], until: int) -> list[tuple[int, int]]:
    """Extend leases; returns those that are no longer held, or were over when somebody had to count."""
    text = f"update otpy_job set lease_until = ? {AS_CLAIMED} and lease_until > 0"  # noqa: S608 - our own text
    return [claim for claim in claims if not db.execute(text, (until, *claim)).rowcount]


def holds(db: Base, id: int, token: int) -> Literal["held", "cancelled", "lost"]:
    """How it stands with an attempt; it stays so until the transaction ends."""
    row = db.execute(f"select is_cancelled from otpy_job {AS_CLAIMED} /* for update */", (id, token)).fetchone()  # noqa: S608
    return "lost" if row is None else "cancelled" if row[0] else "held"


def cancelled(db: Base) -> list[tuple[int, int]]:
    """Those that run and that somebody has cancelled."""
    return db.execute("select id, token from otpy_job where state = 'running' and is_cancelled <> 0").fetchall()


def is_done(db: Base, id: int, token: int) -> bool:
    """Whether this very attempt has done the job."""
    row = db.execute("select 1 from otpy_job where id = ? and token = ? and state = 'done'", (id, token)).fetchone()
    return row is not None


def note(db: Base, id: int, token: int, progress: bytes | None, checkpoint: bytes | None) -> bool:
    """Keep how far a job is."""
    text = f"update otpy_job set progress = coalesce(?, progress), checkpoint = coalesce(?, checkpoint) {AS_CLAIMED}"  # noqa: S608
    done = db.execute(text, (progress, checkpoint, id, token))
    return bool(done.rowcount)
