"""Locks of limits: a row for each queue and kind that has one. `store.sql.limits` says when, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otpy.jobs.store.sql.base import Base

__all__ = ["lock"]

LOCK = "select key from otpy_limit where key = any (cast(? as text[])) order by key for update"
MAKE = "insert into otpy_limit (key) select unnest(cast(? as text[])) on conflict do nothing"


def lock(db: Base, keys: list[str]) -> None:
    """Wait until nobody else has one of these, and have them until the transaction ends; the rows are made once."""
    if len(db.execute(LOCK, (keys,)).fetchall()) < len(keys):
        db.execute(MAKE, (keys,))
        db.execute(LOCK, (keys,))
