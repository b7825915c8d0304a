"""The server of the PostgreSQL store: addresses, versions, values, and when it goes away and comes back."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from time import monotonic
from typing import Any

import pytest

from otpy.jobs.errors import (
    ArgumentsError,
    StoreBrokenError,
    StoreConflictError,
    StoreError,
    StoreFullError,
    StoreLockedError,
    StoreVersionError,
)
from otpy.jobs.model.look import Look
from otpy.jobs.store.where import is_server, lacking, shown
from support.forked import Forked
from support.postgres import server

from .on_server import connected, opened
from .shop import LEASE, claim, get, insert, lead, new, numbers, one, settle

pytestmark = pytest.mark.any_python


# Addresses.


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("postgresql://me:secret@host/db", "postgresql://me:***@host/db"),
        ("postgres://me@host/db?password=secret&sslmode=require", "postgres://me@host/db?password=***&sslmode=require"),
        ("postgresql://:secret@/db", "postgresql://:***@/db"),
        ("postgresql:///db?host=/run/x", "postgresql:///db?host=/run/x"),
        ("postgresql://me:se@cret@host/db", "postgresql://me:***@host/db"),
        ("postgresql://me:se/cr?et@host/db", "postgresql://me:***@host/db"),
        ("postgresql://me:se cret@host/db", "postgresql://me:***@host/db"),
        ("postgresql://me@host/db?pasword=secret", "postgresql://me@host/db?pasword=***"),
    ],
)
def test_an_address_is_shown_without_its_password(url: str, seen: str) -> None:
    assert is_server(url)
    assert shown(url) == seen
    assert not is_server("postgresql.db")


def test_what_is_not_installed_is_told_in_one_line() -> None:
    found = lacking(ImportError("no pq wrapper available.\nAttempts made:\n- libpq library not found"))
    assert found.startswith("it needs otpy[postgres], and psycopg[binary] where libpq is not there: no pq wrapper")
    assert "\n" not in found


# Versions.


def test_two_programs_that_come_at_once_make_the_tables_once(url: str) -> None:
    script = "import sys; from otpy.jobs.store.postgres import PostgresStore; PostgresStore(sys.argv[1]).close()"
    runs = [Forked([sys.executable, "-c", script, url], stderr=subprocess.PIPE) for _ in range(3)]
    assert [(run.communicate()[1], run.returncode) for run in runs] == [(b"", 0)] * 3
    with connected(url) as db:
        assert db.execute("select version from otpy_schema").fetchall() == [(1,)]


def test_tables_of_a_newer_version_are_refused(url: str) -> None:
    opened(url).thing.close()
    with connected(url) as db:
        db.execute("insert into otpy_schema values (99)")
        db.commit()
    with pytest.raises(StoreVersionError, match="run a newer one"):
        opened(url)


# A server that goes away.


def test_a_server_that_was_started_anew_is_used_again_at_once(url: str) -> None:
    with opened(url) as store:
        insert(store, new())
        server().restart()
        insert(store, new())
        assert numbers(store) == {"ready": 2}


def test_a_server_that_is_gone_is_told_and_found_again(url: str) -> None:
    with opened(url) as store:
        server().stop()
        try:
            for _ in range(2):
                with pytest.raises(StoreError, match="the server cannot be reached"):
                    insert(store, new())
            with pytest.raises(StoreError, match="the server cannot be reached"):
                store.lead("jobs")
        finally:
            server().start()
        insert(store, new())
        assert numbers(store) == {"ready": 1}


def test_what_was_done_when_the_server_died_is_not_kept(url: str) -> None:
    with opened(url) as store:
        with pytest.raises(StoreError, match="the server cannot be reached"), store.transaction() as tx:
            tx.insert([new()])
            server().restart()
        assert numbers(store) == {}


def test_a_connection_is_not_carried_over_a_fork(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(url) as store:
        parent = os.getpid()
        with monkeypatch.context() as patch:
            patch.setattr(os, "getpid", lambda: parent + 1)
            with pytest.raises(StoreError, match="opened before a fork"), store.transaction():
                pass
        insert(store, new())


@pytest.mark.parametrize(
    ("state", "kind", "says"),
    [
        ("53100", StoreFullError, "disk is full"),
        ("XX001", StoreBrokenError, "table is damaged"),
        ("40001", StoreConflictError, "in another program's way"),
        ("55P03", StoreLockedError, "holding what it needs"),
        ("58030", StoreError, "disk does not work"),
        ("57P03", StoreError, "cannot be reached"),
        ("25006", StoreError, "may not be written"),
    ],
)
def test_a_failure_is_told_by_what_it_means(url: str, state: str, kind: type[StoreError], says: str) -> None:
    import psycopg  # noqa: PLC0415 - an extra

    from otpy.jobs.store.postgres.failures import store_error  # noqa: PLC0415 - an extra

    error = store_error("here", psycopg.errors.lookup(state)("no\nmore"))
    assert type(error) is kind
    assert says in error.problem
    assert error.problem.endswith(f"(no more, {state})")


# Values.


@pytest.mark.parametrize("wrong", [{"kind": "a\0b"}, {"kind": "\ud800"}, {"priority": 2**70}, {"key": "x" * 1_000_000}])
def test_a_value_that_the_server_cannot_take_is_the_fault_of_who_gave_it(url: str, wrong: dict[str, Any]) -> None:
    with opened(url) as store:
        with pytest.raises(ArgumentsError):
            insert(store, new(**wrong))
        insert(store, new())
        assert numbers(store) == {"ready": 1}


# Many at once.


def test_many_ends_are_as_one_by_one(url: str) -> None:
    from otpy.jobs.model.claim import Settled  # noqa: PLC0415 - beside its use

    with opened(url) as store:
        fence = lead(store)
        insert(store, *[new() for _ in range(5)], one("u", until="started"))
        jobs = claim(store, fence, 6)
        insert(store, one("u", until="started"))
        settle(store, jobs[3], "done")
        with store.transaction() as tx:
            tx.cancel([jobs[4].id], "not wanted")
            held = [(job.id, job.token) for job in jobs]
            ends = [Settled(id=job, token=token, state="done", result=b"r") for job, token in held[:1]]
            ends += [Settled(id=job, token=token, state="scheduled", run_at=tx.now + LEASE) for job, token in held[1:2]]
            ends += [Settled(id=job, token=token, state="ready", is_free=True) for job, token in held[2:]]
            assert tx.settle([*ends, ends[0]]) == [True, True, True, False, True, True, False]
        states = [get(store, job.id).state for job in jobs]
        assert states == ["done", "scheduled", "ready", "done", "cancelled", "cancelled"]
        assert numbers(store) == {"done": 2, "scheduled": 1, "ready": 2, "cancelled": 2}


def test_counts_are_gathered_when_they_are_many(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from otpy.jobs.store.postgres import store as module  # noqa: PLC0415 - an extra

    monkeypatch.setattr(module, "GATHER", 10)
    with opened(url) as store, connected(url) as db:
        for _ in range(30):
            insert(store, new())
        db.rollback()
        assert db.execute("select count(*) < 20 from otpy_tally_part").fetchone() == (True,)
        assert numbers(store) == {"ready": 30}


# Looks beside who writes.


def test_a_look_waits_for_nobody_and_can_write_nothing(url: str) -> None:
    from otpy.jobs.store.postgres.readers import PostgresReaders  # noqa: PLC0415 - an extra

    with opened(url) as store, closing(PostgresReaders(url, None, 5.0)) as readers:
        readers.is_open = True
        (made,) = insert(store, new())
        with store.transaction() as tx:
            tx.cancel([made.id], "no")
            with readers.look() as look:
                found = look.get(made.id)
        assert found is not None
        assert found.state == "ready"
        with pytest.raises(StoreError, match="it may not be written"), readers.look() as look:
            look.insert([new()])
        with readers.look():
            pass
        server().restart()
        with readers.look() as look:
            assert [job.state for job in look.find(Look())] == ["cancelled"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("select 1; commit", "multiple commands"),
        ("select 1; delete from otpy_job", "multiple commands"),
        ("do $$ begin commit; end $$", "invalid transaction termination"),
        ("vacuum sale", "cannot run inside a transaction block"),
        ("create table nowhere.sale (number integer)", "does not exist"),
        ("select currval('sale_number')", "not yet defined"),
    ],
)
def test_what_is_wrong_in_a_statement_of_a_handler_is_its_own_and_ends_nothing(url: str, text: str, error: str) -> None:
    """Two statements in one could commit, or write to the tables of jobs; the others were taken for a failed server."""
    with opened(url) as store:
        insert(store, new())
        with connected(url) as db:
            db.execute("create table sale (); create sequence sale_number")
            db.commit()
        with store.transaction() as tx, tx.lent(monotonic() + 20.0) as foreign:
            for said in (foreign.run(text, ()), foreign.run_many(text, [()])):
                assert error in str(said[1])
            assert foreign.run("select count(*) from otpy_job", ()) == ([(1,)], None)
            assert store._session is not None
            assert store._session.db.info.transaction_status.name == "INTRANS"
