"""Limits over all programs: who asks locks a row for each of them, counts what runs, and is given no more than is left.

`for update skip locked` alone keeps two from the same job and no limit: four that counted at once let twenty run where
five may. So they count one after the other, each with what the one before has committed.

The order in which a transaction takes locks: the rows of limits, by their key, and after them those of jobs. It may
have had jobs of its own before, whose ends it writes, for nobody who holds a limit waits for a job: what others are at
is left out. Who cancels or renews after a claim, in the same transaction, may wait for one who waits for the limit; the
server tells that apart, and one of them begins again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from otpy.jobs.store.sql.rows import marks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from otpy.jobs.model.claim import Ask, Limits
    from otpy.jobs.store.sql.base import Base

__all__ = ["within"]

OF_LIMITS = "state = 'running' and lease_until > 0 and ({limited})"
TAKE = f"""
update otpy_job set lease_until = 0 where id in (
    select id from otpy_job where {OF_LIMITS} and lease_until <= ? /* for update skip locked */
)
"""  # noqa: S608 - our own text
"""What is counted no longer can be renewed no longer: else there would be one more than may be. What somebody is at, to
end it or to renew it, is left, and counts."""
COUNT = f"select queue, kind, tenant, count(*) from otpy_job where {OF_LIMITS} group by queue, kind, tenant"  # noqa: S608


@dataclass(frozen=True, slots=True)
class Running:
    """How many run, of what was asked about."""

    queues: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    tenants: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By queue and tenant."""


def within(db: Base, asks: Sequence[Ask], now: int, lock: Callable[[Base, list[str]], object]) -> Sequence[Ask]:
    """The wishes with what their limits leave, which nobody else can take until the transaction ends.

    Args:
        db: asked nothing where nothing is limited.
        asks: as they came.
        now: leases that are over by then do not count.
        lock: has who else asks for one of these keys, sorted, wait for the end of the transaction.
    """
    bounded = [ask for ask in asks if ask.limits is not None or ask.rate is not None]
    keys = {key for ask in bounded for key in _keys(ask)} if bounded else ()
    if not keys:
        return asks
    lock(db, sorted(keys))
    running = _count(db, [(ask, ask.limits) for ask in asks if ask.limits is not None], now)
    return [ask if ask.limits is None else _narrowed(ask, ask.limits, running) for ask in asks]


def _keys(ask: Ask) -> Iterator[str]:
    """What somebody has to count or to reckon before it is given; a rate is that of a queue, and one of them counts."""
    limits = ask.limits
    if ask.rate is not None or (limits is not None and limits.is_of_queue):
        yield f"queue {ask.queue}"
    if limits is not None:
        for kind in limits.kinds:
            yield f"kind {kind}"


def _count(db: Base, asks: Sequence[tuple[Ask, Limits]], now: int) -> Running:
    """All that have a lease, in whichever program."""
    queues = {ask.queue for ask, limits in asks if limits.is_of_queue}
    kinds = {kind for _, limits in asks for kind in limits.kinds}
    columns = {name: sorted(values) for name, values in (("queue", queues), ("kind", kinds)) if values}
    limited = " or ".join(f"{name} in ({marks(values)})" for name, values in columns.items())
    values = [one for each in columns.values() for one in each]
    running = Running()
    if not values:
        return running
    db.execute(TAKE.format(limited=limited), (*values, now))
    for queue, kind, tenant, number in db.execute(COUNT.format(limited=limited), values):
        running.queues[queue] += number
        running.kinds[kind] += number
        if tenant:
            running.tenants[queue, tenant] += number
    return running


def _narrowed(ask: Ask, limits: Limits, running: Running) -> Ask:
    rooms = {kind: most - running.kinds[kind] for kind, most in limits.kinds.items()}
    narrowed = replace(ask, kind_rooms={**rooms, **_least(rooms, ask.kind_rooms)})
    if limits.queue is not None:
        room = limits.queue - running.queues[ask.queue]
        narrowed = replace(narrowed, room=room if ask.room is None else min(room, ask.room))
    if limits.tenant is not None:
        counts = {tenant: number for (queue, tenant), number in running.tenants.items() if queue == ask.queue}
        narrowed = replace(narrowed, tenant_limit=limits.tenant, tenant_counts=counts)
    return narrowed


def _least(rooms: Mapping[str, int], others: Mapping[str, int]) -> dict[str, int]:
    """What the wish leaves of a kind by itself, as where a breaker lets one try, if that is less."""
    return {kind: min(room, rooms.get(kind, room)) for kind, room in others.items()}
