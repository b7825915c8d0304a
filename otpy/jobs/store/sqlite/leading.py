"""Who leads: one row by name, whose epoch grows with each election."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.jobs.model.lead import Lead
from otpy.jobs.store.sql.hosts import ACTIVE

if TYPE_CHECKING:
    from otpy.jobs.model.lead import Fence
    from otpy.jobs.store.sql.base import Base

__all__ = ["elect", "holds", "lead", "lead_on", "leads", "resign"]


HOLDS = f"{ACTIVE} from otpy_leader where name = ? and epoch = ? and expires_at > ?"
LEAD = "select name, owner, epoch, elected_at, expires_at, ttl_ms from otpy_leader"


def elect(db: Base, name: str, owner: str, ttl_ms: int, over: Lead | None, now: int) -> int | None:
    """Lead if nobody else does; the epoch, or None.

    Who is elected and does not get to know may be so again at once: with a new epoch, as nothing was done under the
    other one.
    """
    seen = (-1, -1) if over is None else (over.epoch, over.expires_at)
    row = db.execute(
        """
        insert into otpy_leader (name, owner, epoch, elected_at, expires_at, ttl_ms) values (?, ?, 1, ?, ?, ?)
        on conflict (name) do update set owner = excluded.owner, epoch = otpy_leader.epoch + 1,
            elected_at = excluded.elected_at, expires_at = excluded.expires_at, ttl_ms = excluded.ttl_ms
        where otpy_leader.expires_at <= excluded.elected_at or otpy_leader.owner = excluded.owner
            or (otpy_leader.epoch = ? and otpy_leader.expires_at = ?)
        returning epoch
        """,
        (name, owner, now, now + ttl_ms, ttl_ms, *seen),
    ).fetchone()
    return None if row is None else int(row[0])


def lead(db: Base, name: str) -> Lead | None:
    """Who was elected last."""
    row = db.execute(f"{LEAD} where name = ?", (name,)).fetchone()
    return None if row is None else Lead.of(row[1:])


def leads(db: Base, prefix: str) -> list[tuple[str, Lead]]:
    """The same for each name that begins so."""
    rows = db.execute(f"{LEAD} where substr(name, 1, ?) = ? order by name", (len(prefix), prefix))
    return [(name, Lead.of(row)) for name, *row in rows]


def lead_on(db: Base, fence: Fence, owner: str, ttl_ms: int, now: int) -> bool:
    """Extend a lead that is not over yet."""
    done = db.execute(
        "update otpy_leader set expires_at = ?, ttl_ms = ?"
        " where name = ? and owner = ? and epoch = ? and expires_at > ?",
        (now + ttl_ms, ttl_ms, fence.name, owner, fence.epoch, now),
    )
    return bool(done.rowcount)


def resign(db: Base, fence: Fence, owner: str, now: int) -> None:
    """End a lead; the row stays."""
    db.execute(
        "update otpy_leader set expires_at = ? where name = ? and owner = ? and epoch = ? and expires_at > ?",
        (now, fence.name, owner, fence.epoch, now),
    )


def holds(db: Base, fence: Fence, now: int) -> str | None:
    """The version that is active, if this leader still leads; asked in the transaction that it guards."""
    row = db.execute(HOLDS, (fence.name, fence.epoch, now)).fetchone()
    return None if row is None else str(row[0])
