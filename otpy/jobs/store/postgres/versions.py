"""Which version the tables have, and how they get to the one that is known here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

from otpy.jobs.errors import StoreBusyError, StoreError, StoreVersionError
from otpy.jobs.store.postgres.failures import said_by
from otpy.jobs.store.sql.scripts import scripts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from otpy.jobs.store.postgres.session import Session, Statements
    from otpy.jobs.store.sql.base import Base

__all__ = ["KNOWN", "make", "migrate", "version_of"]

SCRIPTS = scripts_of(__package__)
"""What leads from each version to the next; the first one makes all tables."""

KNOWN = len(SCRIPTS)
"""The version that this otpy reads and writes."""

LOCK = "select pg_advisory_xact_lock(hashtext('otpy_schema'), hashtext(current_schema()))"

OTHERS = """
select name from otpy_host where until > ?
union select regexp_replace(owner, ':[^:]*$', '') from otpy_term join otpy_beat using (name, epoch) where expires_at > ?
order by 1 limit ?
"""
"""Programs that are alive, as `machine:pid`. A table that a later version changes is asked for as it was here."""
MOST = 5
"""Of them that are named."""

MAY_NOT = "this user may not {} them: `otpy jobs migrate ADDRESS` does it, as a user who may"
MISSING = f"no tables of jobs are in the search path, and {MAY_NOT.format('make')}"
OLDER = f"the tables are of an older version, and {MAY_NOT.format('change')}"

IS_THERE = "select 1 from pg_class where relname = 'otpy_schema' and relkind = 'r' and pg_table_is_visible(oid)"
"""By a look at rows: what `to_regclass` says is remembered over a wait for another program that makes it."""


def version_of(db: Base) -> int:
    """The version of the tables; 0 when there are none."""
    if db.execute(IS_THERE).fetchone() is None:
        return 0
    found: int = db.execute("select coalesce(max(version), 0) from otpy_schema").fetchone()[0]
    return found


def migrate(
    session: Session,
    path: str,
    *,
    scripts: Sequence[str] = SCRIPTS,
    now: Callable[[], int] | None = None,
    is_forced: bool = False,
) -> int:
    """Bring the tables to the version that this otpy knows, all of it or nothing; one program after the other.

    Args:
        session: a connection without a transaction.
        path: how it is called in errors.
        scripts: what leads from version to version.
        now: the time, in milliseconds; the server's unless said.
        is_forced: also while programs work that know the old tables alone.

    Returns the version that there was.

    Raises:
        StoreBusyError: such programs work on them.
        StoreError: the user may not change them.
        StoreVersionError: a newer otpy has written them.
    """
    found = version_of(session)
    if found < len(scripts):
        time = session.begin(now)
        try:
            with session.unhurried():  # many rows may have to be written anew
                session.execute("set local statement_timeout = 0")
                session.execute(LOCK)
                if not is_forced and 0 < version_of(session) < len(scripts):
                    _refuse_beside_others(session, path, time)
                found = make(session, path, scripts)
            session.commit()
        except BaseException:
            session.rollback()
            raise
    if found > len(scripts):
        raise StoreVersionError(path, found, len(scripts))
    return found


def _refuse_beside_others(session: Session, path: str, now: int) -> None:
    """Those who work on the tables would go on by what they know. Raises StoreBusyError, which names them."""
    names = [name for (name,) in session.execute(OTHERS, (now, now, MOST + 1)).fetchall()]
    if names:
        more = " and others" if len(names) > MOST else ""
        problem = (
            f"its tables are of an older version, and {', '.join(names[:MOST])}{more} work on them: stop them first"
        )
        raise StoreBusyError(path, problem)


def make(db: Statements, path: str, scripts: Sequence[str] = SCRIPTS) -> int:
    """Do what is left to do, in a transaction that somebody else ends; the version that there was.

    While one does it others wait, for as long as they wait for any lock. Raises StoreError where the user may not.
    """
    db.execute(LOCK)
    found = version_of(db)  # another program may have done the same
    try:
        if not found:
            db.execute("create table if not exists otpy_schema (version bigint not null)")
        for number, script in enumerate(scripts[found:], found + 1):
            db.db.execute(script, prepare=False)
            db.execute("insert into otpy_schema (version) values (?)", (number,))
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreError(path, f"{OLDER if found else MISSING} ({said_by(error)})") from None
    return found
