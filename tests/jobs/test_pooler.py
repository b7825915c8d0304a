"""Programs behind a transaction pooler: polling instead of calls, and nothing of theirs left on a connection."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from otpy import jobs
from otpy.events import StoreRecovered
from otpy.jobs import health
from support.pooler import pooled
from support.postgres import fresh_url, server

if TYPE_CHECKING:
    from collections.abc import Iterator

    import otpy

pytestmark = pytest.mark.any_python


@jobs.job(name="note")
def note(number: int) -> int:
    return number + 1


@jobs.job(name="sell")
def sell(number: int) -> None:
    with jobs.current().tx() as tx:
        with pytest.raises(Exception, match="behind a pooler"):
            tx.execute("insert into sale values (1); commit")
        tx.execute("insert into sale values (%s)", (number,))
        tx.execute("insert into sale values (7);")


@pytest.fixture
def direct() -> str:
    return fresh_url()


@pytest.fixture
def url(direct: str) -> Iterator[str]:
    """Behind a pooler that has two connections for everybody."""
    with pooled(direct) as url:
        yield url


def opened(url: str, **options: Any) -> Any:
    from otpy.jobs.store.postgres import PostgresStore  # noqa: PLC0415 - an extra

    return closing(PostgresStore(url, **options))


def test_statements_of_several_programs_do_not_meet_on_one_connection(url: str) -> None:
    """Prepared ones have names, which each program counts from 0."""
    with opened(url) as a, opened(url) as b:
        for _ in range(9):
            for one in (a, b):
                with one.transaction() as tx:
                    assert tx.paused() == {}
                    assert tx.elect("jobs", "us", 1_000) is not None


def test_jobs_are_done_by_polling_and_nothing_is_left_on_the_connections(
    system: otpy.System, url: str, direct: str
) -> None:
    from psycopg import connect  # noqa: PLC0415 - an extra

    system.start(jobs.engine(url, [note, sell], lease=30.0, poll=0.05))
    client = jobs.of(system)
    with connect(direct) as db:
        db.execute("create table sale (number integer)")
        (made,) = jobs.enqueue_in(db, note.new(1))
    assert client.wait(made.id, 30.0).result_value == 2
    assert client.wait(client.enqueue(sell.new(5)).id, 30.0).state == "done"
    numbers = [client.enqueue(note.new(number)).id for number in range(20)]
    assert [client.wait(one, 30.0).result_value for one in numbers] == list(range(1, 21))
    assert system.stop(timeout=10.0) == []
    with connect(direct) as db:
        assert db.execute("select number from sale order by 1").fetchall() == [(5,), (7,)]
    with connect(url, autocommit=True, prepare_threshold=None) as db:  # whoever has such a connection next
        assert db.execute("select count(*) from pg_prepared_statements").fetchone() == (0,)
        assert db.execute("select pg_listening_channels()").fetchall() == []
        assert db.execute("show lock_timeout").fetchone() == ("0",)
        assert db.execute("show synchronous_commit").fetchone() == ("on",)
        assert db.execute("show transaction_read_only").fetchone() == ("off",)
    assert server().sql("select * from pg_locks where locktype = 'advisory'") == []


def test_who_listens_lets_go_of_the_connection(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it said there was heard by whoever had that connection next, and it heard nothing."""
    from otpy.jobs.store.postgres import calls  # noqa: PLC0415 - an extra

    asked = threading.Event()
    real = calls.is_pooled

    def told(db: Any) -> bool:
        found = real(db)
        asked.set()
        return found

    monkeypatch.setattr(calls, "is_pooled", told)
    with opened(url, others=bool) as store:
        assert asked.wait(30.0)
        with store.transaction() as tx:
            assert tx.paused() == {}


def test_a_pooler_that_has_lost_its_server_is_an_outage(
    system: otpy.System, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "CALM", 0.0)
    system.start(jobs.engine(url, [note], lease=6.0))
    client = jobs.of(system, seconds=30.0)
    client.wait(client.enqueue(note.new(1)).id, 30.0)
    recovered = threading.Event()
    system.events.attach(lambda _: recovered.set(), StoreRecovered)
    with server().down(), pytest.raises(jobs.StoreError):
        client.enqueue(note.new(2))
    assert recovered.wait(30.0)
    assert client.wait(client.enqueue(note.new(3)).id, 30.0).result_value == 4


@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_a_pooler_is_seen_whatever_it_does(direct: str, mode: str) -> None:
    with opened(direct) as store:
        assert not store._sound().is_pooled
    with pooled(direct, mode=mode) as url, opened(url) as store:
        assert store._sound().is_pooled
