"""The server of the PostgreSQL store: versions, other programs, locks, a server that goes away and comes back."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import closing, contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

from otpy.jobs.errors import (
    ArgumentsError,
    StoreBrokenError,
    StoreBusyError,
    StoreConflictError,
    StoreError,
    StoreFullError,
    StoreVersionError,
)
from otpy.jobs.model.host import Host
from otpy.jobs.model.lead import Fence
from otpy.jobs.model.look import Look
from otpy.jobs.model.schedule import Schedule
from otpy.jobs.store.where import is_server, shown
from support.postgres import fresh_url, server

from .shop import LEASE, claim, get, insert, new, numbers, one, settle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otpy.jobs.store.postgres import PostgresStore

pytestmark = pytest.mark.any_python

HOUR = 3_600_000


@pytest.fixture
def url() -> str:
    """A place without tables."""
    return fresh_url()


def opened(url: str, **options: Any) -> closing[PostgresStore]:
    from otpy.jobs.store.postgres import PostgresStore  # noqa: PLC0415 - an extra

    return closing(PostgresStore(url, **options))


@contextmanager
def connected(url: str) -> Iterator[Any]:
    """Somebody else's connection, in a transaction."""
    import psycopg  # noqa: PLC0415 - an extra

    with psycopg.connect(url) as db:
        yield db
        db.rollback()


def lead(store: PostgresStore, owner: str = "us") -> Fence:
    with store.transaction() as tx:
        epoch = tx.elect("jobs", owner, HOUR)
    assert epoch is not None
    return Fence(name="jobs", epoch=epoch)


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


# Versions.


def test_two_programs_that_come_at_once_make_the_tables_once(url: str) -> None:
    script = "import sys; from otpy.jobs.store.postgres import PostgresStore; PostgresStore(sys.argv[1]).close()"
    runs = [subprocess.Popen([sys.executable, "-c", script, url], stderr=subprocess.PIPE) for _ in range(3)]
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
        ("55P03", StoreBusyError, "holding what it needs"),
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


# Other programs.


def test_a_lead_goes_on_beside_a_transaction_of_its_own_that_is_open(url: str) -> None:
    """With one row for both, whoever leaves a transaction open ends the lead."""
    with opened(url) as store, opened(url, patience=0.2) as beat:
        fence = lead(store)
        with store.transaction() as tx:
            assert tx.claim([], fence) == []
            with beat.transaction() as other:
                assert other.lead_on(fence, "us", HOUR)


def test_nobody_is_elected_while_a_leader_writes(url: str) -> None:
    """And nobody waits for that: a frozen program that has a transaction of its own open kept all others from work."""
    with opened(url) as store, opened(url, patience=0.2) as other:
        with store.transaction() as tx:
            epoch = tx.elect("jobs", "us", HOUR)
        fence = Fence(name="jobs", epoch=epoch or 0)
        seen = other.lead("jobs")
        with store.transaction() as tx:
            tx.claim([], fence)
            with other.transaction() as theirs:
                assert theirs.elect("jobs", "them", HOUR, seen) is None
        with other.transaction() as theirs:
            assert theirs.elect("jobs", "them", HOUR, seen) == fence.epoch + 1
        with store.transaction() as tx:
            assert tx.claim([], fence) is None


def test_a_leader_that_hangs_in_a_transaction_is_rolled_back_by_the_server(url: str) -> None:
    """One whose machine was cut off holds its locks no longer than this."""
    with opened(url, patience=0.2) as store, opened(url, patience=30.0) as other:
        fence = lead(store)
        seen = other.lead("jobs")
        with pytest.raises(StoreError), store.transaction() as tx:
            tx.claim([], fence)
            with other.transaction() as theirs:
                theirs._db.execute("select 1 from otpy_term where name = 'jobs' for update")  # waits until then
                assert theirs.elect("jobs", "them", HOUR, seen) == fence.epoch + 1
            tx.insert([new()])
        assert numbers(store) == {}


def test_who_stands_by_waits_for_nobody(url: str) -> None:
    with opened(url) as store, opened(url, patience=0.2) as other:
        fence = lead(store)
        with store.transaction() as tx:
            tx.claim([], fence)
            with other.transaction() as theirs:
                assert theirs.elect("jobs", "them", HOUR) is None


def test_a_claim_leaves_out_what_somebody_else_is_at(url: str) -> None:
    with opened(url) as store, connected(url) as db:
        fence = lead(store)
        first, second = insert(store, new(), new())
        db.execute("select 1 from otpy_job where id = %s for update", (first.id,))
        assert [job.id for job in claim(store, fence, 2)] == [second.id]


def test_who_waits_too_long_for_another_program_is_told(url: str) -> None:
    with opened(url, patience=0.1) as store, connected(url) as db:
        (made,) = insert(store, new())
        db.execute("select 1 from otpy_job where id = %s for update", (made.id,))
        with pytest.raises(StoreBusyError, match="for too long"), store.transaction() as tx:
            tx.cancel([made.id], "no")
        assert get(store, made.id).state == "ready"


def test_two_that_wait_for_each_other_are_told_to_do_it_again(url: str) -> None:
    with opened(url) as store, opened(url) as other:
        first, second = insert(store, new(), new())
        told: list[str] = []

        def cancel() -> None:
            try:
                with other.transaction() as tx:
                    tx.cancel([second.id], "b")
                    waits.set()
                    tx.cancel([first.id], "b")
            except StoreConflictError:
                told.append("b")

        waits = threading.Event()
        beside = threading.Thread(target=cancel)
        try:
            with store.transaction() as tx:
                tx.cancel([first.id], "a")
                beside.start()
                waits.wait()
                tx.cancel([second.id], "a")
        except StoreConflictError:
            told.append("a")
        beside.join()
        assert len(told) == 1
        assert {get(store, made.id).state for made in (first, second)} == {"cancelled"}


def test_a_key_that_another_program_has_just_taken_is_found(url: str) -> None:
    with opened(url) as store, opened(url) as other:
        with other.transaction() as theirs:
            (first,) = theirs.insert([one("u")])
            made: list[Any] = []
            beside = threading.Thread(target=lambda: made.extend(insert(store, one("u"))))
            beside.start()
        beside.join()
        assert [(each.id, each.how) for each in made] == [(first.id, "kept")]


def test_the_servers_clock_is_that_of_the_store(url: str) -> None:
    with opened(url) as store, connected(url) as db:
        with store.transaction() as tx:
            now = tx.now
        assert 0 <= db.execute("select extract(epoch from clock_timestamp()) * 1000").fetchone()[0] - now < 60_000


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


# Calls.


def test_a_program_calls_the_others_for_what_concerns_them_whoever_leads(url: str) -> None:
    called = threading.Semaphore(0)
    with opened(url, others=called.release), opened(url) as other:
        assert called.acquire(timeout=10)  # it listens
        insert(other, new(), new())
        assert called.acquire(timeout=10)
        lead(other)
        insert(other, new())
        assert called.acquire(timeout=10)
        with other.transaction() as tx:
            tx.pause("q")
        assert called.acquire(timeout=10)
        insert(other, new(run_at=HOUR * 10**6))
        with other.transaction() as tx:
            tx.elect("names/billing", "us", HOUR)
    assert not called.acquire(blocking=False)


def arrive(store: PostgresStore, name: str) -> None:
    """One more program is there, and this store hears of it with a look at all of them."""
    with store.transaction() as tx:
        assert tx.appear(Host(id=name, name=f"{name}:1"), HOUR)
        tx.hosts()


def test_a_program_calls_the_others_when_there_are_any_and_does_not_hear_itself(url: str) -> None:
    called = threading.Semaphore(0)
    with opened(url, others=called.release) as store, opened(url) as other:
        assert called.acquire(timeout=10)  # it listens
        insert(other, new(), new())
        assert called.acquire(timeout=10)  # whoever has not looked yet calls
        arrive(other, "a")
        insert(other, new())
        arrive(other, "b")
        insert(store, new())
        insert(other, new())
        assert called.acquire(timeout=10)
    assert not called.acquire(blocking=False)


def test_a_pause_a_switch_and_the_end_of_a_job_that_runs_are_called_out(url: str) -> None:
    called = threading.Semaphore(0)
    with opened(url, others=called.release), opened(url) as other:
        assert called.acquire(timeout=10)
        insert(other, new(), new())
        assert called.acquire(timeout=10)
        (runs,) = claim(other, lead(other))
        steps: list[Callable[[Any], object]] = [
            lambda tx: tx.pause("q"),
            lambda tx: tx.activate("blue"),
            lambda tx: tx.cancel([runs.id], "no"),
        ]
        for step in steps:
            with other.transaction() as tx:
                step(tx)
            assert called.acquire(timeout=10)
        with other.transaction() as tx:
            assert tx.cancel([runs.id + 1], "it waits") == []
    assert not called.acquire(blocking=False)


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


def test_the_second_of_two_programs_that_plan_at_once_keeps_the_past_of_the_first(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had looked before the first one's commit, found nothing, and began the past anew: a time came twice."""
    from otpy.jobs.store.postgres import session  # noqa: PLC0415 - an extra

    hourly = Schedule(
        id="s",
        expr="0 * * * *",
        tz="UTC",
        job=new("tick"),
        missed="latest",
        most=10,
        late=60.0,
        overlap="allow",
        jitter=0,
    )
    execute, about = session.Statements.execute, threading.Event()

    def watched(self: Any, text: str, *values: Any) -> Any:
        if threading.current_thread() is second and "insert into otpy_schedule" in text:
            about.set()
        return execute(self, text, *values)

    def plan(now: int) -> None:
        with opened(url, now=lambda: now) as other, other.transaction() as tx:
            tx.plan([hourly])

    monkeypatch.setattr(session.Statements, "execute", watched)
    second = threading.Thread(target=plan, args=(2_000,))
    with opened(url, now=lambda: 1_000) as store:
        with store.transaction() as tx:
            tx.plan([hourly])
            second.start()
            assert about.wait(30.0)
        second.join()
        with store.transaction() as tx:
            assert [one.fired_at for one in tx.schedules()] == [1_000]
