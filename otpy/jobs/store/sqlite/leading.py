"""Who leads: one row by name, whose epoch grows with each election."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

    from otpy.jobs.model import Fence

__all__ = ["elect", "holds", "lead_on", "resign"]


def elect(db: sqlite3.Connection, name: str, owner: str, ttl_ms: int, now: int) -> int | None:
    """Lead if nobody does; the epoch, or None."""
    row = db.execute(
        """
        insert into otpy_leader (name, owner, epoch, elected_at, expires_at) values (?, ?, 1, ?, ?)
        on conflict (name) do update set owner = excluded.owner, epoch = otpy_leader.epoch + 1,
            elected_at = excluded.elected_at, expires_at = excluded.expires_at
        where otpy_leader.expires_at <= excluded.elected_at returning epoch
        """,
        (name, owner, now, now + ttl_ms),
    ).fetchone()
    return None if row is None else int(row[0])


def lead_on(db: sqlite3.Connection, fence: Fence, owner: str, ttl_ms: int, now: int) -> bool:
    """Extend a lead that is not over yet."""
    done = db.execute(
        "update otpy_leader set expires_at = ? where name = ? and owner = ? and epoch = ? and expires_at > ?",
        (now + ttl_ms, fence.name, owner, fence.epoch, now),
    )
    return bool(done.rowcount)


def resign(db: sqlite3.Connection, fence: Fence, owner: str, now: int) -> None:
    """End a lead; the row stays."""
    db.execute(
        "update otpy_leader set expires_at = ? where name = ? and owner = ? and epoch = ? and expires_at > ?",
        (now, fence.name, owner, fence.epoch, now),
    )


def holds(db: sqlite3.Connection, fence: Fence, now: int) -> bool:
    """Whether this leader still leads; asked in the transaction that it guards."""
    row = db.execute(
        "select 1 from otpy_leader where name = ? and epoch = ? and expires_at > ?", (fence.name, fence.epoch, now)
    ).fetchone()
    return row is not None
