"""A server that refuses, says nothing, or writes nothing: what the store says of it, and does then."""

from __future__ import annotations

import re
import socket
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from otpy.jobs.errors import StoreError, StoreFullError
from support.postgres import PICKY, server

from .on_server import opened
from .shop import insert, new, numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.any_python

FULL = """
create function full_disk() returns trigger language plpgsql as
    $$ begin raise exception 'no space left on device' using errcode = '53100'; end $$;
create trigger full_disk before insert on otpy_job execute function full_disk()
"""


@pytest.fixture
def mute() -> Iterator[str]:
    """The address of one who accepts, and says nothing."""
    pytest.importorskip("psycopg")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"postgresql://me@127.0.0.1:{listening.getsockname()[1]}/db"


def wrong(**options: Any) -> str:
    """What a store says that cannot be opened."""
    with pytest.raises(StoreError) as told:
        opened(**options)
    return str(told.value)


def test_who_accepts_and_never_says_anything_is_given_up(mute: str) -> None:
    said = wrong(url=mute, patience=0.5)
    assert said.startswith(f"{mute}: the server cannot be reached (connection timeout expired")


def test_a_server_that_falls_silent_in_a_transaction_is_given_up(url: str) -> None:
    """Its side of the connection is well: without a limit of our own one waits until somebody kills it."""
    with opened(url, patience=1.0) as store:
        with pytest.raises(StoreError, match=r"no answer for 1\.2 s"), store.transaction() as tx:
            tx.insert([new()])
            with server().frozen():
                tx.insert([new()])
        insert(store, new())
        assert numbers(store) == {"ready": 1}


def test_a_server_that_says_nothing_is_asked_once(url: str) -> None:
    """A second connection would double the wait of who has leases to extend."""
    with opened(url, patience=1.0) as store:
        insert(store, new())
        with server().frozen(), pytest.raises(StoreError, match="no answer"):
            insert(store, new())
        assert numbers(store) == {"ready": 1}


def test_a_look_at_a_silent_server_ends(url: str) -> None:
    from otpy.jobs.store.postgres.readers import PostgresReaders  # noqa: PLC0415 - an extra

    with opened(url), closing(PostgresReaders(url, None, 1.0)) as readers:
        readers.is_open = True
        with readers.look() as tx, readers.look():
            assert tx.paused() == {}
        with server().frozen(), pytest.raises(StoreError, match="no answer"), readers.look():
            pass
        with readers.look() as tx:
            assert tx.paused() == {}


def test_tables_are_made_however_long_that_takes(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from otpy.jobs.store.postgres import versions  # noqa: PLC0415 - an extra

    slow = ("create table otpy_once (id int); select pg_sleep(1.3)",)
    monkeypatch.setattr(versions.migrate, "__kwdefaults__", {**versions.migrate.__kwdefaults__, "scripts": slow})
    opened(url, patience=1.0).thing.close()


def test_too_many_connections_are_told(url: str) -> None:
    server().sql("create role lone login connection limit 0")
    said = wrong(url=url.replace("otpy@", "lone@"))
    assert "the server refuses the connection (connection failed: " in said
    assert 'too many connections for role "lone"' in said


def test_a_wrong_password_is_told_and_shown_nowhere(url: str) -> None:
    server().sql(f"create role {PICKY} login password 'right'")
    said = wrong(url=url.replace("otpy@", f"{PICKY}:hidden@"))
    assert "the server refuses the connection" in said
    assert 'password authentication failed for user "picky"' in said
    assert "hidden" not in said
    assert "picky:***@" in said


@pytest.mark.parametrize(
    ("rest", "told"),
    [
        ("me:hidden@[::1/db", "its address is wrong: "),
        ("me:hid den@/db", 'unexpected spaces found in "***", use percent-encoded spaces'),
        ("me:hidden%zz@/db", 'invalid percent-encoded token: "***"'),
        ("me:x@hidden@/db?host=/nowhere", "the server cannot be reached"),
        ("me:x@hidden@h.invalid/db", "failed to resolve host '***@h.invalid'"),
        ("me:hidden@/db?host=/nowhere&port=123456", "its address is wrong (connection"),
        ("me:hidden@/db?sslmode=perhaps", 'its address is wrong (connection is bad: invalid sslmode value: "perhaps"'),
        ("me@/db?pasword=hidden", 'invalid URI query parameter: "pasword"'),
    ],
)
def test_an_address_that_is_none_is_told_without_its_password(rest: str, told: str) -> None:
    """The server's library repeats the part of it that it does not understand, as one with a blank in it."""
    pytest.importorskip("psycopg")
    said = wrong(url=f"postgresql://{rest}")
    assert told in said
    assert not {"hid", "den", "hidden"} & set(re.findall(r"\w+", said))


def test_a_server_that_may_not_be_written_is_left_for_the_next_connection(url: str) -> None:
    """After a failover the old connection is to what is a standby now, and stays so for as long as it is kept."""
    with opened(url) as store:
        insert(store, new())
        before = store._session
        assert before is not None
        before.db.execute("set default_transaction_read_only = on")
        with pytest.raises(StoreError, match="the server is a standby, or read-only"):
            insert(store, new())
        insert(store, new())
        assert numbers(store) == {"ready": 2}
        assert not before.is_sound


def test_tables_cannot_be_made_where_nothing_is_written(url: str) -> None:
    assert "a standby, or read-only" in wrong(url=f"{url}%20-cdefault_transaction_read_only%3Don")


def test_a_full_disk_is_told_until_it_is_not(url: str) -> None:
    with opened(url) as store:
        schema = url.rpartition("%3D")[2]
        server().sql(FULL, schema)
        with pytest.raises(StoreFullError, match=r"disk is full.*no space left"):
            insert(store, new())
        server().sql("drop trigger full_disk on otpy_job", schema)
        insert(store, new())
        assert numbers(store) == {"ready": 1}


def test_what_is_left_of_a_transaction_is_not_gone_on_with(url: str) -> None:
    """Its end may not have got there, and then the next one would be part of it."""
    with opened(url) as store:
        session = store._sound()
        session.begin()
        assert store._sound() is not session
        assert not session.is_sound
        insert(store, new())
        assert numbers(store) == {"ready": 1}


def test_who_leads_is_asked_again_where_the_server_was_started_anew(url: str) -> None:
    with opened(url) as store:
        server().restart()
        assert store.lead("jobs") is None
