"""The floor on PostgreSQL: one bare psycopg connection, the same durability, statements that do many rows at once."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg

from benchmarks import databases
from benchmarks.databases import BATCH, database
from benchmarks.measure import rate
from benchmarks.model import Figures
from benchmarks.stores import one_by_one

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.model import Job

VERSION = databases.version()
CLAIMED = 50
"""Jobs of one claim, and of one acknowledgement."""

TABLE = """
create table job (id bigint generated always as identity primary key, kind text, queue text, state text, args bytea,
    priority bigint default 0, run_at bigint, attempt bigint default 0, token bigint default 0, owner text default '',
    lease_until bigint, finished_at bigint, result bytea);
create index ready on job (queue, priority, run_at, id) where state = 'ready';
"""
INSERT = """
insert into job (kind, queue, state, args, run_at)
select * from unnest(%s::text[], %s::text[], %s::text[], %s::bytea[], %s::bigint[])
"""
CLAIM = """
with picked as (
    select id from job where state = 'ready' and queue = 'default' order by priority, run_at, id limit %s
    for update skip locked
)
update job set state = 'running', attempt = attempt + 1, token = token + 1, owner = 'us', lease_until = %s
from picked where picked.id = job.id returning job.id, token, kind, args
"""
ACKNOWLEDGE = """
update job set state = 'done', lease_until = null, owner = '', finished_at = %s, result = '\\xc0'
from unnest(%s::bigint[], %s::bigint[]) as said (id, token)
where job.id = said.id and job.token = said.token and state = 'running'
"""


@contextmanager
def opened() -> Iterator[psycopg.Connection[Any]]:
    """Each statement is a transaction."""
    with database() as url, psycopg.connect(url, autocommit=True) as db:
        db.execute(TABLE)
        yield db


def put(db: psycopg.Connection[Any], number: int) -> None:
    """So many in one commit."""
    columns = zip(*[("kind", "default", "ready", b"x" * 8, 0)] * number, strict=True)
    db.execute(INSERT, [list(column) for column in columns])


def enqueue(job: Job) -> Figures:
    with opened() as db:
        return rate(job, lambda count: one_by_one(-(-count // BATCH), lambda _: put(db, BATCH)))


def work(job: Job) -> Figures:
    """Claim fifty, acknowledge fifty; enqueued before, and nothing is done with them."""
    count = job.size("jobs")
    with opened() as db:
        put(db, count)
        done, began = 0, time.perf_counter()
        while done < count:
            rows = db.execute(CLAIM, (CLAIMED, 1)).fetchall()
            db.execute(ACKNOWLEDGE, (1, [row[0] for row in rows], [row[1] for row in rows]))
            done += len(rows)
        took = time.perf_counter() - began
    return Figures(values={"pg_work": count / took})


MEASURES: dict[str, Callable[[Job], Figures]] = {"pg_enqueue_bulk": enqueue, "pg_work": work}
