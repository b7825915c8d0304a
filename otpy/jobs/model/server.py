"""How it stands with the server of a store: what old transactions keep it from tidying up, and how much is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Hindrance", "ServerLook", "TableLook"]

OLD = 60.0
"""Seconds after which an open transaction is told of."""
MANY = 1_000
"""Transactions that must have written meanwhile: else it has kept nothing that would matter."""
UNSEEN = 20_000
"""The same where its age in seconds may not be seen: on a busy server a short one has as many as `MANY`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hindrance:
    """One who may still want to see rows as they were: none that has changed since is removed while it is there."""

    kind: Literal["transaction", "prepared", "slot"]
    """An open transaction, one that is prepared for a two-phase commit, or a replication slot."""
    name: str
    """The process on the server, the name of what is prepared, or that of the slot."""
    user: str
    """Whose it is."""
    application: str = ""
    """What the program calls itself."""
    state: str = ""
    """What it does, as `active` or `idle in transaction`; empty when this user may not see it."""
    seconds: float | None = None
    """For how long it has been there; None when this user may not see it, and for a slot."""
    query_seconds: float | None = None
    """Since when its last statement began; None as above."""
    query: str = ""
    """The beginning of that statement; empty when this user may not see it."""
    transactions: int = 0
    """How many transactions have written since anything that it keeps."""

    @property
    def is_grave(self) -> bool:
        """Whether it has been there for so long, and so much was written meanwhile, that claims become slow."""
        if self.seconds is None:
            return self.transactions >= UNSEEN
        return self.seconds >= OLD and self.transactions >= MANY


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLook:
    """How much of a table is left over, as the server has counted it: it is seconds behind."""

    name: str
    rows: int
    """Those that are there."""
    dead: int
    """Those that were changed or removed and still take up room; each look at an index may have to pass them by."""
    tidied: float | None = None
    """Seconds since the server has tidied it up (`vacuum`); None when it never has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLook:
    """How it stands with the server of an engine's store."""

    version: str
    """The server's."""
    user: str
    """As whom this program is there."""
    connections: int
    """Connections of everybody."""
    max_connections: int
    """How many there may be."""
    hindrances: tuple[Hindrance, ...] = ()
    """Those who keep the server from tidying up in this database, the one that has for longest first; five at most."""
    tables: tuple[TableLook, ...] = ()
    """The tables of jobs, by name."""

    @property
    def oldest(self) -> float | None:
        """Seconds for which the oldest of the transactions has been open whose age can be seen; None when none is."""
        return max((one.seconds for one in self.hindrances if one.seconds is not None), default=None)

    @property
    def dead(self) -> int:
        """Dead rows in all tables of jobs."""
        return sum(one.dead for one in self.tables)
