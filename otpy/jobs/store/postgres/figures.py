"""How it stands with the server: what any user may ask of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.jobs.model.server import Hindrance, ServerLook, TableLook

if TYPE_CHECKING:
    from otpy.jobs.store.sql.base import Base

__all__ = ["figures"]

MOST = 5
"""Hindrances that are told of."""
TEXT = 200
"""Characters of a statement."""

SERVER = """
select current_setting('server_version'), current_user,
    (select count(*) from pg_stat_activity where usename is not null),
    cast(current_setting('max_connections') as bigint)
"""

HINDRANCES = f"""
select 'transaction', cast(pid as text), usename, application_name, state,
    extract(epoch from clock_timestamp() - xact_start), extract(epoch from clock_timestamp() - query_start),
    case when query <> '<insufficient privilege>' then left(query, {TEXT}) end,
    greatest(age(backend_xmin), age(backend_xid)) as number
from pg_stat_activity
where (datname = current_database() or datname is null) and usename is not null and leader_pid is null
    and pid <> pg_backend_pid() and (backend_xmin is not null or backend_xid is not null)
union all
select 'prepared', gid, owner, null, null, extract(epoch from clock_timestamp() - prepared), null, null,
    age(transaction)
from pg_prepared_xacts where database = current_database()
union all
select 'slot', slot_name, '', plugin, case when active then 'active' else 'inactive' end, null, null, null, age(xmin)
from pg_replication_slots where xmin is not null
order by number desc, 2 limit {MOST}
"""  # noqa: S608 - our own text
"""Process, user, application and age in transactions are told to everybody; the rest to the user, and to
`pg_read_all_stats`. Other databases hold up nobody here, and neither does a transaction that sees nothing yet. The
server's own workers have no user."""

TABLES = """
select relname, n_live_tup, n_dead_tup,
    extract(epoch from clock_timestamp() - greatest(last_vacuum, last_autovacuum))
from pg_stat_user_tables where schemaname = current_schema() and relname like 'otpy\\_%' order by relname
"""


def figures(db: Base) -> ServerLook:
    """In a transaction that writes nothing."""
    version, user, connections, most = db.execute(SERVER).fetchone()
    return ServerLook(
        version=version,
        user=user,
        connections=connections,
        max_connections=most,
        hindrances=tuple(_hindrance(*row) for row in db.execute(HINDRANCES).fetchall()),
        tables=tuple(
            TableLook(name=name, rows=rows, dead=dead, tidied=_seconds(tidied))
            for name, rows, dead, tidied in db.execute(TABLES).fetchall()
        ),
    )


def _hindrance(
    kind: Any, name: str, user: str, application: str | None, *rest: Any
) -> Hindrance:  # Any: as the server says
    state, seconds, query_seconds, query, number = rest
    return Hindrance(
        kind=kind,
        name=name,
        user=user,
        application=application or "",
        state=state or "",
        seconds=_seconds(seconds),
        query_seconds=_seconds(query_seconds),
        query=query or "",
        transactions=number,
    )


def _seconds(value: Any) -> float | None:  # Any: a Decimal, or nothing
    return None if value is None else max(0.0, float(value))
