"""`enqueue_in`: enqueuing inside a transaction of the caller's own, in the same database as the caller's tables."""

from __future__ import annotations

import sqlite3
import sys
from typing import TYPE_CHECKING, Any

from otpy.jobs.errors import StaleEpochError, StoreVersionError
from otpy.jobs.fenced import stored
from otpy.jobs.insertion import Insertion
from otpy.jobs.spec import job_specs, new_job
from otpy.jobs.store.sqlite.guest import guest as in_file

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import psycopg

    from otpy.jobs.insertion import Enqueued
    from otpy.jobs.model.lead import Fence
    from otpy.jobs.spec import JobSpec
    from otpy.jobs.store.guest import Guest

__all__ = ["enqueue_in"]


def enqueue_in(
    connection: sqlite3.Connection | psycopg.Connection[Any], *specs: JobSpec[Any], under: Fence | None = None
) -> list[Enqueued]:
    """Enqueue in the caller's transaction: when that is committed, the jobs are there; when it is not, they never were.

    Runs in the caller's thread, on a connection to the engine's file, or to its server, whose other tables are the
    caller's. On a connection that begins transactions by itself (`isolation_level`, the default of sqlite3, or
    `autocommit=False`, that of psycopg) one is begun unless it has; on another one the caller must have begun it.
    What is done here is undone when it fails, and the caller's transaction goes on. Where no engine has run yet, the
    tables of jobs are made in the same transaction. The programs that work see the jobs when they look next, after
    at most `poll` seconds, or a second on a server, and there they are called besides.

    Args:
        connection: the caller's.
        specs: the jobs; there may be none when `under` is given, which then guards what else the caller writes.
        under: an epoch of a name (`singleton`) that must be current; until the caller's transaction has ended nobody
            else can be elected, so what is in it is written by who holds the name.

    Raises:
        StaleEpochError: that epoch is over; nothing was enqueued, and the caller's transaction is to be rolled back.
        KeyTakenError: a key was used for another job, or one is in the way.
        StoreError: it is in memory, where no engine sees it, no transaction is open, or it failed; or a job is unique
            for a time, and the transaction is not read committed, so that it cannot look back.
        StoreVersionError: its tables are of another version; older ones an engine that runs on it brings up to date.
    """
    insertion = Insertion(job_specs(specs))
    with _guest(connection) as guest:
        if guest.version not in (0, guest.known):
            raise StoreVersionError(guest.path, guest.version, guest.known)
        if under is not None:
            _refuse_late(guest, under)
        return _enqueue(guest, insertion)


def _guest(connection: Any) -> AbstractContextManager[Guest]:
    """By its driver. psycopg is asked for only when somebody has it."""
    if isinstance(connection, sqlite3.Connection):
        return in_file(connection)
    psycopg = sys.modules.get("psycopg")
    if psycopg is None or not isinstance(connection, psycopg.Connection):
        raise TypeError(f"enqueue_in takes a sqlite3.Connection first, or a psycopg.Connection, not {connection!r}")
    from otpy.jobs.store.postgres.guest import guest as on_server  # noqa: PLC0415 - an extra

    return on_server(connection)


def _refuse_late(guest: Guest, fence: Fence) -> None:
    if not guest.version or guest.under(stored(fence), guest.now) is None:
        raise StaleEpochError(fence.name, fence.epoch)


def _enqueue(guest: Guest, insertion: Insertion) -> list[Enqueued]:
    db, tally = guest.db, guest.tally
    db.execute("savepoint otpy_enqueue")
    try:
        if not guest.version:
            guest.make()
        news = [new_job(spec, guest.now) for spec in insertion.specs]
        made = insertion.told(iter(guest.insert(news, guest.now)))
        tally.write(db)
        if tally.ready:
            guest.call()
    except BaseException:
        db.execute("rollback to otpy_enqueue")
        raise
    finally:
        db.execute("release otpy_enqueue")
    return made
