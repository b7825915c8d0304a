"""The wishes of one call: those queues are asked that have something, within limits that hold over all of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from otpy.jobs.store.sql import fair, limits
from otpy.jobs.store.sql.rows import marks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from otpy.jobs.model.claim import Ask
    from otpy.jobs.model.job import Job
    from otpy.jobs.store.sql.base import Base
    from otpy.jobs.store.sql.tally import Tally
    from otpy.jobs.store.sql.ways import Ways

__all__ = ["claim_all"]


def claim_all(
    db: Base, tally: Tally, asks: Sequence[Ask], versions: tuple[str, ...], now: int, ways: Ways
) -> list[Job]:
    """Give jobs of these versions to whoever wishes for them: each owner one, though it stands in several wishes."""
    jobs: list[Job] = []
    served: Counter[tuple[str, ...]] = Counter()
    for ask in limits.within(db, asks, now, ways.lock):
        if ask.room is not None and ask.room <= 0:
            continue
        for queue in _giving(db, ask, versions, ways):
            owners = ask.owners[served[ask.owners] :]
            if not owners:
                break
            wish = _narrowed(ask, queue, owners, versions, jobs)
            found = _claim(db, tally, wish, now, ways) if wish.owners else []
            served[ask.owners] += len(found)
            jobs += found
    return jobs


def _giving(db: Base, ask: Ask, versions: tuple[str, ...], ways: Ways) -> Iterator[str]:
    """The queues in which anything is ready that these agents can do, in their order."""
    kinds = None if ask.kinds is None else [kind for kind in ask.kinds if _may_run(ask, kind)]
    if kinds == [] or not ask.needs:
        return iter(())  # SQLite plans nothing for an index that is asked for nothing
    if kinds is None:
        return ways.giving(db, ask, "", ())
    chosen = f"and kind in ({marks(kinds)}) and needs in ({marks(ask.needs)}) and version in ({marks(versions)})"
    return ways.giving(db, ask, chosen, (*kinds, *ask.needs, *versions))


def _may_run(ask: Ask, kind: str) -> bool:
    return kind not in ask.not_kinds and ask.kind_rooms.get(kind, 1) > 0


def _narrowed(ask: Ask, queue: str, owners: tuple[str, ...], versions: tuple[str, ...], given: Sequence[Job]) -> Ask:
    """A wish for this queue alone, within what those that were given before it have left of its limits."""
    own = [job for job in given if job.queue == queue]
    room = len(owners) if ask.room is None else max(0, ask.room - len(own))
    kinds = Counter(job.kind for job in given) if ask.kind_rooms else {}
    tenants = Counter(job.tenant for job in own if job.tenant) if ask.tenant_limit is not None else {}
    return replace(
        ask,
        queues=(queue,),
        owners=owners[:room],
        versions=versions,
        kind_rooms={kind: room - kinds.get(kind, 0) for kind, room in ask.kind_rooms.items()},
        tenant_counts={**ask.tenant_counts, **{one: ask.tenant_counts.get(one, 0) + n for one, n in tenants.items()}},
    )


def _claim(db: Base, tally: Tally, ask: Ask, now: int, ways: Ways) -> list[Job]:
    rate, wish = ask.rate, len(ask.owners)
    if rate is not None:
        ask = replace(ask, owners=ask.owners[: fair.allow(db, ask.queue, rate, wish=wish, now=now)])
    jobs = None if ask.kind_rooms or ask.tenant_limit is not None else ways.claim(db, tally, ask, now)
    if jobs is None:
        jobs = fair.claim_fairly(db, tally, ask, now, ways)
    if rate is not None and len(jobs) < len(ask.owners):
        fair.unused(db, ask.queue, rate, number=len(ask.owners) - len(jobs))
    return jobs
