"""Claims of queues with tenants or limits: candidates are looked at, and those are taken that are picked."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice, product
from typing import TYPE_CHECKING

from otpy.jobs.store.picking import ReadyJob, pick, tenant_room
from otpy.jobs.store.sql import claims
from otpy.jobs.store.sql.claims import give, wanted
from otpy.jobs.store.sql.rows import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from otpy.jobs.model.claim import Ask, Rate
    from otpy.jobs.model.job import Job
    from otpy.jobs.store.sql.base import Base
    from otpy.jobs.store.sql.tally import Tally
    from otpy.jobs.store.sql.ways import First, Row, Ways

__all__ = ["AGE", "AGED", "ROW", "age", "allow", "claim_alone", "claim_fairly", "first", "is_shared", "take", "unused"]

RING = 64
"""Tenants with something to give whose jobs are looked at for one wish; the next wish goes on behind them."""

ROW = "id, kind, tenant, priority, run_at"

TENANTS = """
with recursive ring (tenant) as (
    select min(tenant) from otpy_job where state = 'ready' and tenant <> '' and queue = ? and tenant > ?
    union all
    select (select min(job.tenant) from otpy_job as job
        where job.state = 'ready' and job.tenant <> '' and job.queue = ? and job.tenant > ring.tenant)
    from ring where ring.tenant is not null
)
select tenant from ring where tenant is not null limit ?
"""
"""From one to the next by the index, whatever the number of their jobs."""

SET_RATE = "insert into otpy_rate (key, tat) values (?, ?) on conflict (key) do update set tat = excluded.tat"

AGED = "select max(aged) from otpy_job where state = 'ready' and priority > 0 and aged < ?"
AGE = """
update otpy_job set priority = priority - 1, aged = aged + 1 where id in (
    select id from otpy_job where state = 'ready' and priority > 0 and aged = ? and run_at <= ? limit ?
    /* for update skip locked */
)
"""
"""For those that have aged so many steps before, which makes their time one range of an index: all that are ready are
not looked at, however many there are."""


def is_shared(db: Base, queue: str) -> bool:
    """Whether jobs of any tenant are ready."""
    row = db.execute(
        "select 1 from otpy_job where state = 'ready' and tenant <> '' and queue = ? limit 1", (queue,)
    ).fetchone()
    return row is not None


def claim_alone(db: Base, tally: Tally, ask: Ask, now: int) -> list[Job] | None:
    """As `claims.claim`; None where tenants share the queue."""
    return None if is_shared(db, ask.queue) else claims.claim(db, tally, ask, now)


def claim_fairly(db: Base, tally: Tally, ask: Ask, now: int, ways: Ways) -> list[Job]:
    """As `claims.claim`, within all limits and turn by turn."""
    full = tuple(kind for kind, room in ask.kind_rooms.items() if room <= 0)
    ask = replace(ask, not_kinds=(*ask.not_kinds, *full))
    picked = _picked(db, ask, now, ways.first)
    return ways.take(db, tally, ask, [one.id for one in picked], now) if picked else []


def _picked(db: Base, ask: Ask, now: int, first: First) -> list[ReadyJob]:
    """Those that are given; of each tenant no more are looked at than could be.

    What has a kind that is used up by those before it is in the way of others behind it. So where a kind comes to be
    used up, its jobs are looked at by themselves, and as many of the other kinds: never more often than that happens,
    however many kinds have a limit. When no further one is used up, nothing that was not looked at could be given.
    """
    rows: dict[int, Row] = {}
    tenants = list(_giving(db, ask, now, first, rows))
    apart: set[str] = set()
    while True:
        candidates = sorted(rows.values(), key=lambda row: (row[3], row[4], row[0]))
        picked = pick(ask, [ReadyJob(*row[:4]) for row in candidates])
        spent = _spent(ask, picked) - apart
        if not spent:
            return picked
        apart |= spent
        wishes = [replace(ask, kinds=(kind,)) for kind in sorted(spent)]
        for wish in (replace(ask, not_kinds=(*ask.not_kinds, *sorted(apart))), *wishes):
            rows.update((row[0], row) for row in first(db, wish, tenants, now))


def _giving(db: Base, ask: Ask, now: int, first: First, rows: dict[int, Row]) -> Iterator[str]:
    """The tenants whose turn may come, with the first jobs of each.

    One that has reached its limit, or has nothing that these agents can do, takes no other's place.
    """
    left, tenants = max(RING, len(ask.owners)), _tenants(db, ask)
    while left and (some := [*islice(tenants, RING)]):
        found = list(first(db, ask, some, now))
        has = {row[2] for row in found}
        those = [tenant for tenant in some if tenant in has][:left]
        left -= len(those)
        rows.update((row[0], row) for row in found if row[2] in those)
        yield from those


def _spent(ask: Ask, picked: Sequence[ReadyJob]) -> set[str]:
    """The kinds of which no more may be given than are picked."""
    numbers = Counter(one.kind for one in picked)
    return {kind for kind, number in numbers.items() if number == ask.kind_rooms.get(kind)}


def first(db: Base, wish: Ask, tenants: Sequence[str], now: int) -> Iterator[Row]:
    """The first jobs of each of these tenants that a wish is for, as many as it has owners."""
    for tenant, version in product(tenants, wish.versions):
        where, values = wanted(replace(wish, tenant=tenant), version, now)
        yield from db.execute(
            f"select {ROW} from otpy_job where {where} order by priority, run_at, id limit ?",  # noqa: S608 - our own
            (*values, len(wish.owners)),
        ).fetchall()


def take(db: Base, tally: Tally, ask: Ask, ids: Sequence[int], now: int) -> list[Job]:
    """Give these jobs to the owners of a wish, in this order."""
    text = f"select {COLUMNS} from otpy_job where id = ? and state = 'ready'"  # noqa: S608 - our own text
    rows = [db.execute(text, (one,)).fetchone() for one in ids]
    return give(db, tally, ask, [row for row in rows if row is not None], now)


def _tenants(db: Base, ask: Ask) -> Iterator[str]:
    """Whose jobs are ready and may be given: nobody's, those behind the one that had the last turn, then the others."""
    tenants = _all_tenants(db, ask) if ask.tenant is None else iter((ask.tenant,))
    for tenant in tenants:
        room = tenant_room(ask, tenant)
        if tenant not in ask.not_tenants and (room is None or room > 0):
            yield tenant


def _all_tenants(db: Base, ask: Ask) -> Iterator[str]:
    yield ""
    after, goes_on = ask.turns.get(ask.queue, ""), ask.unspent > 0
    if goes_on and after:
        yield after
    yield from _behind(db, ask.queue, after)
    for tenant in _behind(db, ask.queue, "") if after else ():
        if not (tenant < after or (tenant == after and not goes_on)):
            break
        yield tenant


def _behind(db: Base, queue: str, tenant: str) -> Iterator[str]:
    """The tenants after this one whose jobs are ready."""
    while True:
        some = [one for (one,) in db.execute(TENANTS, (queue, tenant, queue, RING)).fetchall()]
        yield from some
        if len(some) < RING:
            break
        tenant = some[-1]


def allow(db: Base, key: str, rate: Rate, *, wish: int, now: int) -> int:
    """How many of so many may begin now by a rate (GCRA); they are counted."""
    row = db.execute("select tat from otpy_rate where key = ?", (key,)).fetchone()
    most = now + rate.burst * rate.period_ms  # later only when the clock was set back
    tat = min(max(float(row[0]) if row else 0.0, float(now)), most)
    number = max(0, min(wish, int((now - tat) / rate.period_ms + rate.burst + 1e-9)))
    if number:
        db.execute(SET_RATE, (key, tat + number * rate.period_ms))
    return number


def unused(db: Base, key: str, rate: Rate, *, number: int) -> None:
    """So many of them did not begin."""
    db.execute("update otpy_rate set tat = tat - ? where key = ?", (number * rate.period_ms, key))


def age(db: Base, *, step_ms: int, limit: int, now: int) -> int:
    """Move up what has waited: one step of priority for each `step_ms`, up to 0; what is urgent does not age.

    Each at most one step: those that have aged most come first.
    """
    done, aged = 0, 2**63 - 1
    while done < limit:
        (aged,) = db.execute(AGED, (aged,)).fetchone()
        if aged is None:
            break
        done += db.execute(AGE, (aged, now - step_ms * (aged + 1), limit - done)).rowcount
    return done
