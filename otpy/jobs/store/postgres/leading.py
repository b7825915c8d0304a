"""Who leads: a term, which what a leader writes locks, and a beat beside it, which that does not hold up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.jobs.model.lead import Lead
from otpy.jobs.store.sql.hosts import ACTIVE

if TYPE_CHECKING:
    from otpy.jobs.model.lead import Fence
    from otpy.jobs.store.sql.base import Base

__all__ = ["elect", "holds", "lead", "lead_on", "leads", "resign"]

LEAD = """
select name, owner, epoch, elected_at, expires_at, ttl_ms from otpy_term join otpy_beat using (name, epoch)
"""
TERM = """
insert into otpy_term (name, owner, epoch, elected_at) values (?, ?, 1, ?)
on conflict (name) do update set owner = excluded.owner, epoch = otpy_term.epoch + 1, elected_at = excluded.elected_at
returning epoch
"""
BEAT = """
insert into otpy_beat (name, epoch, expires_at, ttl_ms) values (?, ?, ?, ?)
on conflict (name) do update set epoch = excluded.epoch, expires_at = excluded.expires_at, ttl_ms = excluded.ttl_ms
"""
EXTEND = """
update otpy_beat set expires_at = ?, ttl_ms = ? where name = ? and epoch = ? and expires_at > ?
    and exists (select 1 from otpy_term where name = ? and epoch = ? and owner = ?)
"""
HOLDS = f"""
{ACTIVE} from otpy_term join otpy_beat using (name, epoch) where name = ? and epoch = ? and expires_at > ?
for share of otpy_term
"""


def elect(db: Base, name: str, owner: str, ttl_ms: int, over: Lead | None, now: int) -> int | None:
    """Lead if nobody else does; the epoch, or None.

    The first look locks nothing: who stands by holds up nobody. The second one is at what nobody can change any more.
    The epoch counts on from the term, which an election locks before it looks again.

    Nobody is waited for who writes under the term just now: that may be a transaction of the user's own, which a frozen
    program keeps open, and who elects has all else of its program to write.
    """
    if _leads(lead(db, name), owner, over, now):
        return None
    # A term of nobody's has no beat, and epoch 0: the first one to come makes it, and all of them lock it.
    db.execute(
        "insert into otpy_term (name, owner, epoch, elected_at) values (?, '', 0, 0) on conflict do nothing", (name,)
    )
    term = db.execute("select epoch from otpy_term where name = ? for update skip locked", (name,)).fetchone()
    beat = db.execute("select 1 from otpy_beat where name = ? for update skip locked", (name,)).fetchone()
    if term is None or (term[0] and beat is None) or _leads(lead(db, name), owner, over, now):
        return None
    epoch = int(db.execute(TERM, (name, owner, now)).fetchone()[0])
    db.execute(BEAT, (name, epoch, now + ttl_ms, ttl_ms))
    return epoch


def _leads(found: Lead | None, owner: str, over: Lead | None, now: int) -> bool:
    """Whether another one does."""
    if found is None or found.owner == owner or found.expires_at <= now:
        return False
    return over is None or (over.epoch, over.expires_at) != (found.epoch, found.expires_at)


def lead(db: Base, name: str) -> Lead | None:
    """Who was elected last."""
    row = db.execute(f"{LEAD} where name = ?", (name,)).fetchone()
    return None if row is None else Lead.of(row[1:])


def leads(db: Base, prefix: str) -> list[tuple[str, Lead]]:
    """The same for each name that begins so."""
    rows = db.execute(f"{LEAD} where starts_with(name, ?) order by name", (prefix,))
    return [(name, Lead.of(row)) for name, *row in rows]


def lead_on(db: Base, fence: Fence, owner: str, ttl_ms: int, now: int) -> bool:
    """Extend a lead that is not over yet."""
    words = (now + ttl_ms, ttl_ms, fence.name, fence.epoch, now, fence.name, fence.epoch, owner)
    return bool(db.execute(EXTEND, words).rowcount)


def resign(db: Base, fence: Fence, owner: str, now: int) -> None:
    """End a lead; the rows stay."""
    lead_on(db, fence, owner, 0, now)


def holds(db: Base, fence: Fence, now: int) -> str | None:
    """The version that is active, if this leader still leads; else None.

    Nobody else can be elected until the transaction ends, or its time does.
    """
    row = db.execute(HOLDS, (fence.name, fence.epoch, now)).fetchone()
    return None if row is None else str(row[0])
