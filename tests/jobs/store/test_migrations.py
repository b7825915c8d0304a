"""The tables on a server from version to version: who may change them, and who is told to stop."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import otpy
from otpy import jobs
from otpy.errors import StartError
from otpy.jobs.errors import StoreBusyError, StoreError, StoreVersionError
from otpy.jobs.model.host import Host
from support.postgres import server

from .on_server import opened
from .shop import HOUR, lead

pytestmark = pytest.mark.any_python

NEXT = "alter table otpy_job add column colour text not null default ''"


def bring(url: str, **options: Any) -> int:
    """Bring the tables to a version that comes after the one known here."""
    from otpy.jobs.store.postgres.session import Session  # noqa: PLC0415 - an extra
    from otpy.jobs.store.postgres.versions import SCRIPTS, migrate  # noqa: PLC0415

    session = Session(url, 10.0, is_fast=False)
    try:
        return migrate(session, "here", scripts=(*SCRIPTS, NEXT), **options)
    finally:
        session.close()


def versions(url: str) -> list[int]:
    return [one for (one,) in server().sql("select version from otpy_schema order by 1", url.rpartition("%3D")[2])]


def test_those_who_come_at_once_bring_the_tables_to_the_next_version_once(url: str) -> None:
    opened(url).thing.close()
    found: list[int] = []
    barrier = threading.Barrier(3)

    def come() -> None:
        barrier.wait()
        found.append(bring(url))

    programs = [threading.Thread(target=come) for _ in range(3)]
    for one in programs:
        one.start()
    for one in programs:
        one.join()
    assert sorted(found) == [1, 2, 2]
    assert versions(url) == [1, 2]


def test_all_of_it_is_done_or_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(url).thing.close()
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "NEXT", f"{NEXT}; select 1 / 0")
        with pytest.raises(Exception, match="division by zero"):
            bring(url)
    assert versions(url) == [1]
    assert bring(url) == 1


@pytest.mark.parametrize("who", ["host", "leader"])
def test_tables_that_an_older_program_works_on_stay_as_they_are_unless_told_otherwise(url: str, who: str) -> None:
    with opened(url) as store:
        if who == "host":
            with store.transaction() as tx:
                assert tx.appear(Host(id="1", name="m:12"), HOUR)
        else:
            lead(store, "m:12:uuid")
        said = "its tables are of an older version, and m:12 work on them: stop them first"
        with pytest.raises(StoreBusyError, match=said):
            bring(url)
        assert versions(url) == [1]
        assert bring(url, is_forced=True) == 1


def test_those_who_have_left_or_died_hold_up_nobody(url: str) -> None:
    with opened(url) as store, store.transaction() as tx:
        tx.appear(Host(id="1", name="m:1"), HOUR)
        tx.leave("1")
        tx.appear(Host(id="2", name="m:2"), -1)
    assert bring(url) == 1


def test_an_older_program_is_refused_on_newer_tables(url: str) -> None:
    with opened(url) as store:
        bring(url)
        with pytest.raises(StoreVersionError), store.transaction() as tx:  # by a connection that it had before
            tx.appear(Host(id="1", name="m:1"), HOUR)
    with pytest.raises(StoreVersionError, match="has version 2 of the schema, and this otpy knows 1: run a newer one"):
        opened(url)


def test_an_older_program_does_not_start_on_newer_tables(url: str, system: otpy.System) -> None:
    bring(url)
    with pytest.raises(StartError, match="has version 2 of the schema, and this otpy knows 1: run a newer one"):
        system.start(jobs.engine(url, []))


def test_a_program_needs_no_right_to_make_tables_that_are_there(url: str) -> None:
    schema = url.rpartition("%3D")[2]
    theirs = url.replace("otpy@", "worker@")
    server().sql(f"create role worker login; grant usage on schema {schema} to worker")
    mend = r"in the search path, and this user may not make them: .*migrate.* \(permission denied for schema \w+\)$"
    with pytest.raises(StoreError, match=mend):
        opened(theirs)
    import psycopg  # noqa: PLC0415 - an extra

    with psycopg.connect(theirs) as db, pytest.raises(StoreError, match=mend):
        jobs.enqueue_in(db, note.new())
    opened(url).thing.close()
    server().sql(
        f"grant select, insert, update, delete on all tables in schema {schema} to worker;"
        f"grant usage on all sequences in schema {schema} to worker"
    )
    engine = otpy.System("worker")
    engine.start(jobs.engine(theirs, [note]))
    client = jobs.of(engine)
    assert client.wait(client.enqueue(note.new()).id, 30.0).state == "done"
    assert engine.stop(timeout=10.0) == []


@jobs.job(name="note")
def note() -> None:
    """Is done at once."""
