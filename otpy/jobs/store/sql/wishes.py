"""The wishes of one call: those queues are asked that have something, within limits that hold over all of them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from otpy.jobs.store.sql import claims, fair
from otpy.jobs.store.sql.rows import marks

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

    from otpy.jobs.model.claim import Ask
    from otpy.jobs.model.job import Job
    from otpy.jobs.store.sql.tally import Tally

__all__ = ["claim_all"]

GIVING = """
select value from json_each(?) as asked where exists (
    select 1 from otpy_job indexed by otpy_job_kind
    where state = 'ready' and queue = asked.value {limits}
)
"""
"""One look for each kind and each set of labels, for a claim in vain would read all that is ready for others, however
much that is, while all writers wait. SQLite looks as far as somebody reads on."""


def claim_all(db: sqlite3.Connection, tally: Tally, asks: Sequence[Ask], now: int) -> list[Job]:
    """Give jobs to whoever wishes for them: each owner one, though it stands in several wishes."""
    jobs: list[Job] = []
    served: Counter[tuple[str, ...]] = Counter()
    for ask in asks:
        for queue in _giving(db, ask):
            owners = ask.owners[served[ask.owners] :]
            if not owners:
                break
            found = _claim(db, tally, _narrowed(ask, queue, owners, jobs), now)
            served[ask.owners] += len(found)
            jobs += found
    return jobs


def _giving(db: sqlite3.Connection, ask: Ask) -> Iterator[str]:
    """The queues in which anything is ready that these agents can do, in their order."""
    kinds = None if ask.kinds is None else [kind for kind in ask.kinds if _may_run(ask, kind)]
    if kinds == [] or not ask.needs:
        return  # SQLite plans nothing for an index that is asked for nothing
    limits = "" if kinds is None else f"and kind in ({marks(kinds)}) and needs in ({marks(ask.needs)})"
    values = () if kinds is None else (*kinds, *ask.needs)
    for (queue,) in db.execute(GIVING.format(limits=limits), (json.dumps(ask.queues), *values)):
        yield queue


def _may_run(ask: Ask, kind: str) -> bool:
    return kind not in ask.not_kinds and ask.kind_rooms.get(kind, 1) > 0


def _narrowed(ask: Ask, queue: str, owners: tuple[str, ...], given: Sequence[Job]) -> Ask:
    """A wish for this queue alone, within what those that were given before it have left of its limits."""
    own = [job for job in given if job.queue == queue]
    room = len(owners) if ask.room is None else max(0, ask.room - len(own))
    kinds = Counter(job.kind for job in given) if ask.kind_rooms else {}
    tenants = Counter(job.tenant for job in own if job.tenant) if ask.tenant_limit is not None else {}
    return replace(
        ask,
        queues=(queue,),
        owners=owners[:room],
        kind_rooms={kind: room - kinds.get(kind, 0) for kind, room in ask.kind_rooms.items()},
        tenant_counts={**ask.tenant_counts, **{one: ask.tenant_counts.get(one, 0) + n for one, n in tenants.items()}},
    )


def _claim(db: sqlite3.Connection, tally: Tally, ask: Ask, now: int) -> list[Job]:
    rate, wish = ask.rate, len(ask.owners)
    if rate is not None:
        ask = replace(ask, owners=ask.owners[: fair.allow(db, ask.queue, rate, wish=wish, now=now)])
    is_plain = not ask.kind_rooms and ask.tenant_limit is None and not fair.is_shared(db, ask.queue)
    jobs = (claims.claim if is_plain else fair.claim_fairly)(db, tally, ask, now)
    if rate is not None and len(jobs) < len(ask.owners):
        fair.unused(db, ask.queue, rate, number=len(ask.owners) - len(jobs))
    return jobs
