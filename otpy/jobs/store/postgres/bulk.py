"""What many jobs get in one statement: claims, ends and leases. Each statement costs a way there and back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from otpy.jobs.store.postgres.rows import Columns
from otpy.jobs.store.sql import fair
from otpy.jobs.store.sql.claims import wanted
from otpy.jobs.store.sql.rows import COLUMNS as ALL
from otpy.jobs.store.sql.rows import job_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from otpy.jobs.model.claim import Ask, Settled
    from otpy.jobs.model.job import Job
    from otpy.jobs.store.sql.base import Base
    from otpy.jobs.store.sql.tally import Tally
    from otpy.jobs.store.sql.ways import Row

__all__ = ["claim", "first", "giving", "renew", "settle", "take"]

GIVING = """
select asked from unnest(cast(? as text[])) with ordinality as wished (asked, place)
cross join lateral (select 1 from otpy_job where state = 'ready' and queue = asked {limits} limit 1) as found
order by place
"""
"""Queue by queue: left to itself the server may think that few are ready, and read them all."""

PICK = """
select id, priority, run_at from otpy_job where {where}
    and not exists (select 1 from otpy_job where state = 'ready' and tenant <> '' and queue = ?)
order by priority, run_at, id limit ? for update skip locked
"""
CLAIM = """
with {picked}, placed as (select id as job, row_number() over () as place from picked)
update otpy_job set state = 'running', attempt = attempt + 1, token = token + 1, lease_until = ?,
    owner = (cast(? as text[]))[place]
from placed where id = job returning {columns}
"""

FIRST = """
select found.* from unnest(cast(? as text[])) as wished (asked)
cross join lateral (
    select {row} from otpy_job where {where} and tenant <> '' and tenant = asked order by priority, run_at, id limit ?
) as found
"""
TAKE = """
with wished as (
    select job, place from unnest(cast(? as bigint[])) with ordinality as listed (job, place)
), locked as (
    select id, place from wished join otpy_job on id = job where coalesce(state, '') = 'ready' order by place
    for update of otpy_job skip locked
), placed as (select id as job, row_number() over (order by place) as number from locked)
update otpy_job set state = 'running', attempt = attempt + 1, token = token + 1, lease_until = ?,
    owner = (cast(? as text[]))[number]
from placed where id = job returning {columns}
"""
# `coalesce`: what is ready must be found by the ids, not among all that is.

SETTLE = """
update otpy_job set lease_until = null, owner = '',
    state = case when is_cancelled = 0 then said.state else 'cancelled' end,
    result = case when is_cancelled = 0 then said.result end,
    reason = case when is_cancelled = 0 then said.reason else otpy_job.reason end,
    finished_at = case when is_cancelled = 0 then said.finished_at else ? end,
    run_at = coalesce(said.run_at, otpy_job.run_at),
    errors = errors + said.error, crashes = crashes + said.crash, attempt = attempt - said.free,
    releases = releases + said.free, start_by = said.start_by
from {said} as said where id = job and otpy_job.token = said.token and lease_until is not null
    and (said.finished_at is not null or coalesce(unique_until, '') <> 'started')
returning id, otpy_job.token, queue, otpy_job.state, otpy_job.run_at, otpy_job.start_by
"""
"""All but those that go on and have a key until they start: whether a twin of them waits must be asked."""
# What has a lease is running, and the other way round. So written, only the index of the ids comes in question: that of
# leases has an entry for each attempt there has ever been, until somebody cleans up.
SAID = Columns(
    ("job", "token", "state", "result", "reason", "finished_at", "run_at", "start_by", "error", "crash", "free"),
    ("bigint", "bigint", "text", "bytea", "text", "bigint", "bigint", "bigint", "bigint", "bigint", "bigint"),
)

RENEW = """
update otpy_job set lease_until = ? from unnest(cast(? as bigint[]), cast(? as bigint[])) as held (job, token)
where id = job and otpy_job.token = held.token and lease_until > 0
returning id, otpy_job.token
"""


def giving(db: Base, ask: Ask, limits: str, values: tuple[str, ...]) -> Iterator[str]:
    """The queues in which anything is ready that these agents can do, in their order."""
    for (queue,) in db.execute(GIVING.format(limits=limits), (list(ask.queues), *values)).fetchall():
        yield queue


def claim(db: Base, tally: Tally, ask: Ask, now: int) -> list[Job] | None:
    """Give jobs to the owners of one wish, one each, the first due first; without those that others are at.

    None where tenants share the queue: that is asked in the same statement, and by itself only if that gives nothing.
    """
    picked, values = _picked(ask, now)
    text = CLAIM.format(picked=picked, columns=ALL)
    rows = db.execute(text, (*values, now + ask.lease_ms, list(ask.owners))).fetchall()
    if not rows and fair.is_shared(db, ask.queue):
        return None
    jobs = sorted(map(job_of, rows), key=lambda job: (job.priority, job.run_at, job.id))
    tally.moves(ask.queue, "ready", "running", len(jobs))
    return jobs


def _picked(ask: Ask, now: int) -> tuple[str, list[Any]]:
    """The first ones of each version, by an index that has them in this order, and of those the first ones."""
    parts, values = [], list[Any]()
    for number, version in enumerate(ask.versions):
        where, words = wanted(ask, version, now)
        parts.append((f"picked_{number}", PICK.format(where=where)))
        values += (*words, ask.queue, len(ask.owners))
    if len(parts) == 1:
        return f"picked as ({parts[0][1]})", values
    each = ", ".join(f"{name} as ({pick})" for name, pick in parts)
    union = " union all ".join(f"table {name}" for name, _ in parts)
    values.append(len(ask.owners))
    return f"{each}, picked as ({union} order by priority, run_at, id limit ?)", values


def first(db: Base, wish: Ask, tenants: Sequence[str], now: int) -> list[Row]:
    """The first jobs of each of these tenants that a wish is for; those of nobody are not in the index of tenants."""
    found: list[Row] = []
    if "" in tenants:
        found += fair.first(db, wish, ("",), now)
    named = [tenant for tenant in tenants if tenant]
    if named:
        for version in wish.versions:
            where, values = wanted(replace(wish, tenant=None), version, now)
            text = FIRST.format(row=fair.ROW, where=where)
            found += db.execute(text, (named, *values, len(wish.owners))).fetchall()
    return found


def take(db: Base, tally: Tally, ask: Ask, ids: Sequence[int], now: int) -> list[Job]:
    """Give these jobs to the owners of a wish, in this order; without those that others are at."""
    values = (list(ids), now + ask.lease_ms, list(ask.owners))
    jobs = {job.id: job for job in map(job_of, db.execute(TAKE.format(columns=ALL), values).fetchall())}
    tally.moves(ask.queue, "ready", "running", len(jobs))
    return [jobs[one] for one in ids if one in jobs]


def settle(db: Base, tally: Tally, outcomes: Sequence[Settled], now: int) -> set[tuple[int, int]]:
    """Write down how attempts went, once for each; those of which that was done. For the others nothing was."""
    said, values = SAID.of([_words(one, now) for one in outcomes])
    done = set()
    for job, token, queue, state, run_at, start_by in db.execute(SETTLE.format(said=said), (now, *values)).fetchall():
        done.add((job, token))
        tally.moves(queue, "running", state, 1)
        if state == "scheduled":
            tally.comes(run_at)
        tally.comes(start_by)
    return done


def _words(one: Settled, now: int) -> tuple[Any, ...]:
    finished_at = None if one.goes_on else now
    return (
        one.id,
        one.token,
        one.state,
        one.result,
        one.reason,
        finished_at,
        one.run_at,
        one.start_by,
        *one.counts,
    )


def renew(db: Base, held: Sequence[tuple[int, int]], until: int) -> list[tuple[int, int]]:
    """Extend leases; returns those that are no longer held."""
    ids, tokens = [one[0] for one in held], [one[1] for one in held]
    found = set(db.execute(RENEW, (until, ids, tokens)).fetchall())
    return [claim for claim in held if claim not in found]
