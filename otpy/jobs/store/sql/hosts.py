"""The programs that work on a store: each says that it is there, again and again, and is dead when it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.jobs.model.host import Host, HostLook

if TYPE_CHECKING:
    from otpy.jobs.model.host import Station
    from otpy.jobs.store.sql.base import Base

__all__ = ["ACTIVE", "activate", "active", "appear", "drain", "forget", "leave", "looks", "works"]

APPEAR = """
insert into otpy_host (id, name, labels, version, agents, arrived_at, beat_at, until) values (?, ?, ?, ?, ?, ?, ?, ?)
on conflict (id) do update set name = excluded.name, labels = excluded.labels, version = excluded.version,
    agents = excluded.agents, beat_at = excluded.beat_at, until = excluded.until
where otpy_host.until > excluded.beat_at
"""
ACTIVE = "select coalesce((select version from otpy_active), '')"
"""In the statement that says whether somebody may claim, for each has its price."""
ACTIVATE = """
insert into otpy_active (one, version, since) values (1, ?, ?)
on conflict (one) do update set version = excluded.version, since = excluded.since
"""
WORKS = f"""
{ACTIVE} from otpy_host where id = ? and until > ? and draining_since is null /* for key share */
"""
"""Such a lock holds up no beat. `STILL` waits for it: who has drained or left is given nothing from then on."""
STILL = "select 1 from otpy_host where id = ? and until > ? /* for update */"
LOOKS = """
select id, name, labels, version, agents, arrived_at, beat_at, until, draining_since from otpy_host
where until > ? order by arrived_at, id
"""


def appear(db: Base, host: Host, ttl_ms: int, now: int) -> bool:
    """Be there, or still; one statement."""
    words = (host.id, host.name, ",".join(host.labels), host.version, host.agents, now, now, now + ttl_ms)
    return bool(db.execute(APPEAR, words).rowcount)


def leave(db: Base, id: str, now: int) -> bool:
    """Be there no longer."""
    return _change(db, id, "until = ?", now)


def drain(db: Base, id: str, now: int) -> bool:
    """Be given nothing more."""
    return _change(db, id, "draining_since = coalesce(draining_since, ?)", now)


def _change(db: Base, id: str, what: str, now: int) -> bool:
    if db.execute(STILL, (id, now)).fetchone() is None:
        return False
    db.execute(f"update otpy_host set {what} where id = ?", (now, id))  # noqa: S608 - our own text
    return True


def works(db: Base, station: Station, now: int) -> str | None:
    """The version that is active, if it may be given jobs, which it may until the transaction ends; else None."""
    row = db.execute(WORKS, (station.host, now)).fetchone()
    return None if row is None else str(row[0])


def activate(db: Base, version: str, now: int) -> None:
    """Have one version do what says none; an empty one: any."""
    db.execute(ACTIVATE, (version, now))


def active(db: Base) -> str:
    """The one that does."""
    return str(db.execute(ACTIVE).fetchone()[0])


def looks(db: Base, now: int, after: int) -> list[HostLook]:
    """Those that end after this time, or are dead since, those that came first before the others."""
    return [_look(row, now) for row in db.execute(LOOKS, (after,))]


def _look(row: tuple[Any, ...], now: int) -> HostLook:
    one, name, labels, version, agents, arrived_at, beat_at, until, draining_since = row
    host = Host(id=one, name=name, labels=tuple(filter(None, labels.split(","))), version=version, agents=agents)
    return HostLook(
        host=host,
        arrived_at=arrived_at,
        beat_at=beat_at,
        until=until,
        draining_since=draining_since,
        is_alive=until > now,
    )


def forget(db: Base, before: int) -> None:
    """Those that ended before are known no longer."""
    db.execute("delete from otpy_host where until < ?", (before,))
